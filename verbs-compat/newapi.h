/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the ABI has and the installed <infiniband/verbs.h> may lack: the
 * functions of IBVERBS_1.15 to 1.18 with their types, and functions that no
 * installed header declares at all. Layouts are those of the public ABI;
 * configure finds out (AC_CHECK_DECLS) what the header has.
 */
#ifndef RVC_NEWAPI_H
#define RVC_NEWAPI_H

#include <stddef.h>
#include <stdint.h>
#include <infiniband/verbs.h>
#include <infiniband/sa.h>

#if !HAVE_DECL_IBV_ALLOC_DMAH
struct ibv_dmah {
	struct ibv_context *context;
};

struct ibv_dmah_init_attr {
	uint32_t comp_mask;
	uint32_t cpu_id;
	uint8_t ph;
	uint8_t tph_mem_type;
};

struct ibv_dmah *ibv_alloc_dmah(struct ibv_context *context,
				struct ibv_dmah_init_attr *attr);
int ibv_dealloc_dmah(struct ibv_dmah *dmah);
#endif

#if !HAVE_DECL_IBV_ALLOC_BUF
struct ibv_buf;

void *ibv_alloc_buf(struct ibv_pd *pd, size_t size, struct ibv_buf **buf);
void ibv_free_buf(struct ibv_buf *buf);
struct ibv_mr *ibv_reg_buf_mr(struct ibv_pd *pd, struct ibv_buf *buf,
			      void *addr, size_t length, int access);
#endif

#if !HAVE_DECL_IBV_EXPORT_BUF_DMABUF_FD
int ibv_export_buf_dmabuf_fd(struct ibv_buf *buf);
#endif

#if !HAVE_DECL_IBV_REG_MR_EX
struct ibv_mr_init_attr {
	size_t length;
	int access;
	uint64_t comp_mask;
	uint64_t iova;
	void *addr;
	int fd;
	uint64_t fd_offset;
	struct ibv_dmah *dmah;
	struct ibv_buf *buf;	/* since 1.17 */
};

struct ibv_mr *ibv_reg_mr_ex(struct ibv_pd *pd, struct ibv_mr_init_attr *attr);
#endif

#if !HAVE_DECL_IBV_DM_EXPORT_DMABUF_FD
int ibv_dm_export_dmabuf_fd(struct ibv_dm *dm);
#endif

#if !HAVE_DECL_IBV_QUERY_PORT_SPEED
/* In units of 100 Mb/s. */
int ibv_query_port_speed(struct ibv_context *context, uint32_t port_num,
			 uint64_t *port_speed);
#endif

#if !HAVE_DECL_IBV_CREATE_COMP_CNTR
enum ibv_comp_cntr_type {
	IBV_COMP_CNTR_TYPE_WRS,
	IBV_COMP_CNTR_TYPE_BYTES,
};

struct ibv_comp_cntr_caps {
	uint64_t max_value;
	uint32_t max_counters;
	uint32_t supported_qp_attach_ops;
};

struct ibv_comp_cntr {
	struct ibv_context *context;
	uint32_t handle;
};

struct ibv_comp_cntr_init_attr {
	uint32_t comp_mask;
	enum ibv_comp_cntr_type type;
	uint32_t flags;
};

struct ibv_qp_attach_comp_cntr_attr {
	uint32_t comp_mask;
	uint32_t op_mask;
};

int _ibv_query_comp_cntr_caps(struct ibv_context *context,
			      struct ibv_comp_cntr_caps *caps,
			      size_t caps_size);
struct ibv_comp_cntr *
ibv_create_comp_cntr(struct ibv_context *context,
		     struct ibv_comp_cntr_init_attr *attr);
int ibv_destroy_comp_cntr(struct ibv_comp_cntr *cntr);
int ibv_set_comp_cntr(struct ibv_comp_cntr *cntr, uint64_t value);
int ibv_set_err_comp_cntr(struct ibv_comp_cntr *cntr, uint64_t value);
int ibv_inc_comp_cntr(struct ibv_comp_cntr *cntr, uint64_t amount);
int ibv_inc_err_comp_cntr(struct ibv_comp_cntr *cntr, uint64_t amount);
int ibv_read_comp_cntr(struct ibv_comp_cntr *cntr, uint64_t *value);
int ibv_read_err_comp_cntr(struct ibv_comp_cntr *cntr, uint64_t *value);
int ibv_qp_attach_comp_cntr(struct ibv_qp *qp, struct ibv_comp_cntr *cntr,
			    struct ibv_qp_attach_comp_cntr_attr *attr);
#endif

/* ---- exported, but in no header that is installed ---------------------- */

int ibv_dontfork_range(void *base, size_t size);
int ibv_dofork_range(void *base, size_t size);
const char *ibv_get_sysfs_path(void);
int ibv_read_sysfs_file(const char *dir, const char *file, char *buf,
			size_t size);

/* What sysfs tells of a GID: RoCE v2, or anything else. */
enum rvc_gid_type_sysfs {
	RVC_GID_TYPE_SYSFS_IB_ROCE_V1,
	RVC_GID_TYPE_SYSFS_ROCE_V2,
};

/* Private in the ABI: C name here, ABI name by trampoline.S. */
int rvc_query_gid_type(struct ibv_context *context, uint8_t port_num,
		       unsigned int index, enum rvc_gid_type_sysfs *type);
const char *rvc_wr_opcode_str(enum ibv_wr_opcode opcode);

struct ib_user_path_rec;
struct ib_uverbs_ah_attr;
struct ib_uverbs_qp_attr;

void ibv_copy_ah_attr_from_kern(struct ibv_ah_attr *dst,
				struct ib_uverbs_ah_attr *src);
void ibv_copy_qp_attr_from_kern(struct ibv_qp_attr *dst,
				struct ib_uverbs_qp_attr *src);
void ibv_copy_path_rec_from_kern(struct ibv_sa_path_rec *dst,
				 struct ib_user_path_rec *src);
void ibv_copy_path_rec_to_kern(struct ib_user_path_rec *dst,
			       struct ibv_sa_path_rec *src);

#endif
