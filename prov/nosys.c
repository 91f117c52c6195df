/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Functions for the places of ops tables that this provider does not fill.
 * libfabric's inline wrappers call through these without a test for NULL.
 */
#include <config.h>

#include "prov/rfi.h"

#include <rdma/fi_atomic.h>

int rfi_nosys_bind(struct fid *fid, struct fid *bfid, uint64_t flags)
{
	(void)fid;
	(void)bfid;
	(void)flags;
	return -FI_ENOSYS;
}

int rfi_nosys_control(struct fid *fid, int command, void *arg)
{
	(void)fid;
	(void)command;
	(void)arg;
	return -FI_ENOSYS;
}

int rfi_nosys_ops_open(struct fid *fid, const char *name, uint64_t flags,
		       void **ops, void *context)
{
	(void)fid;
	(void)name;
	(void)flags;
	(void)ops;
	(void)context;
	return -FI_ENOSYS;
}

int rfi_nosys_tostr(const struct fid *fid, char *buf, size_t len)
{
	(void)fid;
	(void)buf;
	(void)len;
	return -FI_ENOSYS;
}

int rfi_nosys_ops_set(struct fid *fid, const char *name, uint64_t flags,
		      void *ops, void *context)
{
	(void)fid;
	(void)name;
	(void)flags;
	(void)ops;
	(void)context;
	return -FI_ENOSYS;
}

/* ---- endpoints without FI_MSG --------------------------------------- */

static ssize_t nosys_recv(struct fid_ep *ep, void *buf, size_t len, void *desc,
			  fi_addr_t src, void *context)
{
	(void)ep;
	(void)buf;
	(void)len;
	(void)desc;
	(void)src;
	(void)context;
	return -FI_ENOSYS;
}

static ssize_t nosys_iov(struct fid_ep *ep, const struct iovec *iov,
			 void **desc, size_t count, fi_addr_t addr,
			 void *context)
{
	(void)ep;
	(void)iov;
	(void)desc;
	(void)count;
	(void)addr;
	(void)context;
	return -FI_ENOSYS;
}

static ssize_t nosys_message(struct fid_ep *ep, const struct fi_msg *msg,
			     uint64_t flags)
{
	(void)ep;
	(void)msg;
	(void)flags;
	return -FI_ENOSYS;
}

static ssize_t nosys_send(struct fid_ep *ep, const void *buf, size_t len,
			  void *desc, fi_addr_t dest, void *context)
{
	(void)ep;
	(void)buf;
	(void)len;
	(void)desc;
	(void)dest;
	(void)context;
	return -FI_ENOSYS;
}

static ssize_t nosys_inject(struct fid_ep *ep, const void *buf, size_t len,
			    fi_addr_t dest)
{
	(void)ep;
	(void)buf;
	(void)len;
	(void)dest;
	return -FI_ENOSYS;
}

static ssize_t nosys_senddata(struct fid_ep *ep, const void *buf, size_t len,
			      void *desc, uint64_t data, fi_addr_t dest,
			      void *context)
{
	(void)ep;
	(void)buf;
	(void)len;
	(void)desc;
	(void)data;
	(void)dest;
	(void)context;
	return -FI_ENOSYS;
}

/* inject with data, inject with tag, inject to an address: all one shape */
static ssize_t nosys_inject_word(struct fid_ep *ep, const void *buf, size_t len,
				 uint64_t word, fi_addr_t dest)
{
	(void)ep;
	(void)buf;
	(void)len;
	(void)word;
	(void)dest;
	return -FI_ENOSYS;
}

struct fi_ops_msg rfi_nosys_msg = {
	.size = sizeof(struct fi_ops_msg),
	.recv = nosys_recv,
	.recvv = nosys_iov,
	.recvmsg = nosys_message,
	.send = nosys_send,
	.sendv = nosys_iov,
	.sendmsg = nosys_message,
	.inject = nosys_inject,
	.senddata = nosys_senddata,
	.injectdata = nosys_inject_word,
};

/* ---- endpoints without FI_TAGGED ------------------------------------ */

static ssize_t nosys_trecv(struct fid_ep *ep, void *buf, size_t len, void *desc,
			   fi_addr_t src, uint64_t tag, uint64_t ignore,
			   void *context)
{
	(void)tag;
	(void)ignore;
	return nosys_recv(ep, buf, len, desc, src, context);
}

static ssize_t nosys_trecvv(struct fid_ep *ep, const struct iovec *iov,
			    void **desc, size_t count, fi_addr_t src,
			    uint64_t tag, uint64_t ignore, void *context)
{
	(void)tag;
	(void)ignore;
	return nosys_iov(ep, iov, desc, count, src, context);
}

static ssize_t nosys_tmessage(struct fid_ep *ep,
			      const struct fi_msg_tagged *msg, uint64_t flags)
{
	(void)ep;
	(void)msg;
	(void)flags;
	return -FI_ENOSYS;
}

static ssize_t nosys_tsend(struct fid_ep *ep, const void *buf, size_t len,
			   void *desc, fi_addr_t dest, uint64_t tag,
			   void *context)
{
	(void)tag;
	return nosys_send(ep, buf, len, desc, dest, context);
}

static ssize_t nosys_tsendv(struct fid_ep *ep, const struct iovec *iov,
			    void **desc, size_t count, fi_addr_t dest,
			    uint64_t tag, void *context)
{
	(void)tag;
	return nosys_iov(ep, iov, desc, count, dest, context);
}

static ssize_t nosys_tinject(struct fid_ep *ep, const void *buf, size_t len,
			     fi_addr_t dest, uint64_t tag)
{
	(void)tag;
	return nosys_inject(ep, buf, len, dest);
}

static ssize_t nosys_tsenddata(struct fid_ep *ep, const void *buf, size_t len,
			       void *desc, uint64_t data, fi_addr_t dest,
			       uint64_t tag, void *context)
{
	(void)tag;
	return nosys_senddata(ep, buf, len, desc, data, dest, context);
}

static ssize_t nosys_tinjectdata(struct fid_ep *ep, const void *buf, size_t len,
				 uint64_t data, fi_addr_t dest, uint64_t tag)
{
	(void)tag;
	return nosys_inject_word(ep, buf, len, data, dest);
}

struct fi_ops_tagged rfi_nosys_tagged = {
	.size = sizeof(struct fi_ops_tagged),
	.recv = nosys_trecv,
	.recvv = nosys_trecvv,
	.recvmsg = nosys_tmessage,
	.send = nosys_tsend,
	.sendv = nosys_tsendv,
	.sendmsg = nosys_tmessage,
	.inject = nosys_tinject,
	.senddata = nosys_tsenddata,
	.injectdata = nosys_tinjectdata,
};

/* ---- endpoints without FI_RMA --------------------------------------- */

static ssize_t nosys_read(struct fid_ep *ep, void *buf, size_t len, void *desc,
			  fi_addr_t src, uint64_t addr, uint64_t key,
			  void *context)
{
	(void)addr;
	(void)key;
	return nosys_recv(ep, buf, len, desc, src, context);
}

static ssize_t nosys_rmav(struct fid_ep *ep, const struct iovec *iov,
			  void **desc, size_t count, fi_addr_t peer,
			  uint64_t addr, uint64_t key, void *context)
{
	(void)addr;
	(void)key;
	return nosys_iov(ep, iov, desc, count, peer, context);
}

static ssize_t nosys_rmamsg(struct fid_ep *ep, const struct fi_msg_rma *msg,
			    uint64_t flags)
{
	(void)ep;
	(void)msg;
	(void)flags;
	return -FI_ENOSYS;
}

static ssize_t nosys_write(struct fid_ep *ep, const void *buf, size_t len,
			   void *desc, fi_addr_t dest, uint64_t addr,
			   uint64_t key, void *context)
{
	(void)addr;
	(void)key;
	return nosys_send(ep, buf, len, desc, dest, context);
}

static ssize_t nosys_inject_write(struct fid_ep *ep, const void *buf,
				  size_t len, fi_addr_t dest, uint64_t addr,
				  uint64_t key)
{
	(void)addr;
	(void)key;
	return nosys_inject(ep, buf, len, dest);
}

static ssize_t nosys_writedata(struct fid_ep *ep, const void *buf, size_t len,
			       void *desc, uint64_t data, fi_addr_t dest,
			       uint64_t addr, uint64_t key, void *context)
{
	(void)addr;
	(void)key;
	return nosys_senddata(ep, buf, len, desc, data, dest, context);
}

static ssize_t nosys_inject_writedata(struct fid_ep *ep, const void *buf,
				      size_t len, uint64_t data, fi_addr_t dest,
				      uint64_t addr, uint64_t key)
{
	(void)addr;
	(void)key;
	return nosys_inject_word(ep, buf, len, data, dest);
}

struct fi_ops_rma rfi_nosys_rma = {
	.size = sizeof(struct fi_ops_rma),
	.read = nosys_read,
	.readv = nosys_rmav,
	.readmsg = nosys_rmamsg,
	.write = nosys_write,
	.writev = nosys_rmav,
	.writemsg = nosys_rmamsg,
	.inject = nosys_inject_write,
	.writedata = nosys_writedata,
	.injectdata = nosys_inject_writedata,
};

/* ---- atomics -------------------------------------------------------- */

static ssize_t nosys_atomic_write(struct fid_ep *ep, const void *buf,
				  size_t count, void *desc, fi_addr_t dest,
				  uint64_t addr, uint64_t key,
				  enum fi_datatype datatype, enum fi_op op,
				  void *context)
{
	(void)datatype;
	(void)op;
	return nosys_write(ep, buf, count, desc, dest, addr, key, context);
}

static ssize_t nosys_atomic_writev(struct fid_ep *ep, const struct fi_ioc *iov,
				   void **desc, size_t count, fi_addr_t dest,
				   uint64_t addr, uint64_t key,
				   enum fi_datatype datatype, enum fi_op op,
				   void *context)
{
	(void)iov;
	(void)datatype;
	(void)op;
	return nosys_rmav(ep, NULL, desc, count, dest, addr, key, context);
}

static ssize_t nosys_atomic_writemsg(struct fid_ep *ep,
				     const struct fi_msg_atomic *msg,
				     uint64_t flags)
{
	(void)ep;
	(void)msg;
	(void)flags;
	return -FI_ENOSYS;
}

static ssize_t nosys_atomic_inject(struct fid_ep *ep, const void *buf,
				   size_t count, fi_addr_t dest, uint64_t addr,
				   uint64_t key, enum fi_datatype datatype,
				   enum fi_op op)
{
	(void)datatype;
	(void)op;
	return nosys_inject_write(ep, buf, count, dest, addr, key);
}

static ssize_t nosys_fetch(struct fid_ep *ep, const void *buf, size_t count,
			   void *desc, void *result, void *result_desc,
			   fi_addr_t dest, uint64_t addr, uint64_t key,
			   enum fi_datatype datatype, enum fi_op op,
			   void *context)
{
	(void)result;
	(void)result_desc;
	return nosys_atomic_write(ep, buf, count, desc, dest, addr, key,
				  datatype, op, context);
}

static ssize_t nosys_fetchv(struct fid_ep *ep, const struct fi_ioc *iov,
			    void **desc, size_t count, struct fi_ioc *resultv,
			    void **result_desc, size_t result_count,
			    fi_addr_t dest, uint64_t addr, uint64_t key,
			    enum fi_datatype datatype, enum fi_op op,
			    void *context)
{
	(void)resultv;
	(void)result_desc;
	(void)result_count;
	return nosys_atomic_writev(ep, iov, desc, count, dest, addr, key,
				   datatype, op, context);
}

static ssize_t nosys_fetchmsg(struct fid_ep *ep,
			      const struct fi_msg_atomic *msg,
			      struct fi_ioc *resultv, void **result_desc,
			      size_t result_count, uint64_t flags)
{
	(void)resultv;
	(void)result_desc;
	(void)result_count;
	return nosys_atomic_writemsg(ep, msg, flags);
}

static ssize_t nosys_compare(struct fid_ep *ep, const void *buf, size_t count,
			     void *desc, const void *compare,
			     void *compare_desc, void *result,
			     void *result_desc, fi_addr_t dest, uint64_t addr,
			     uint64_t key, enum fi_datatype datatype,
			     enum fi_op op, void *context)
{
	(void)compare;
	(void)compare_desc;
	return nosys_fetch(ep, buf, count, desc, result, result_desc, dest,
			   addr, key, datatype, op, context);
}

static ssize_t nosys_comparev(struct fid_ep *ep, const struct fi_ioc *iov,
			      void **desc, size_t count,
			      const struct fi_ioc *comparev,
			      void **compare_desc, size_t compare_count,
			      struct fi_ioc *resultv, void **result_desc,
			      size_t result_count, fi_addr_t dest,
			      uint64_t addr, uint64_t key,
			      enum fi_datatype datatype, enum fi_op op,
			      void *context)
{
	(void)comparev;
	(void)compare_desc;
	(void)compare_count;
	return nosys_fetchv(ep, iov, desc, count, resultv, result_desc,
			    result_count, dest, addr, key, datatype, op,
			    context);
}

static ssize_t nosys_comparemsg(struct fid_ep *ep,
				const struct fi_msg_atomic *msg,
				const struct fi_ioc *comparev,
				void **compare_desc, size_t compare_count,
				struct fi_ioc *resultv, void **result_desc,
				size_t result_count, uint64_t flags)
{
	(void)comparev;
	(void)compare_desc;
	(void)compare_count;
	return nosys_fetchmsg(ep, msg, resultv, result_desc, result_count,
			      flags);
}

static int nosys_valid(struct fid_ep *ep, enum fi_datatype datatype,
		       enum fi_op op, size_t *count)
{
	(void)ep;
	(void)datatype;
	(void)op;
	(void)count;
	return -FI_ENOSYS;
}

struct fi_ops_atomic rfi_nosys_atomic = {
	.size = sizeof(struct fi_ops_atomic),
	.write = nosys_atomic_write,
	.writev = nosys_atomic_writev,
	.writemsg = nosys_atomic_writemsg,
	.inject = nosys_atomic_inject,
	.readwrite = nosys_fetch,
	.readwritev = nosys_fetchv,
	.readwritemsg = nosys_fetchmsg,
	.compwrite = nosys_compare,
	.compwritev = nosys_comparev,
	.compwritemsg = nosys_comparemsg,
	.writevalid = nosys_valid,
	.readwritevalid = nosys_valid,
	.compwritevalid = nosys_valid,
};
