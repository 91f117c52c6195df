/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The receiving end of an RC queue pair: what an arrival does. Runs in the
 * owner's poll, under the receive CQ's lock. A peer's slot is copied once and
 * believed only as far as it can be checked.
 */
#include <config.h>

#include <string.h>

#include "engine/ctx.h"
#include "engine/mr.h"
#include "engine/move/move.h"
#include "engine/pd.h"
#include "engine/qp.h"
#include "util/copy.h"
#include "util/log.h"

/*
 * The keys of a RECV were found good at the post. Regions may have gone
 * since; the program's memory must not be written then.
 */
static bool recv_still_good(struct rosm_qp *qp, const struct rosm_wire_recv *r,
			    uint32_t at)
{
	struct rosm_inst *inst = qp->inst;
	uint64_t va;
	uint32_t i;

	if (ru_likely(atomic_load_explicit(&inst->roh->mr_epoch,
					   memory_order_acquire) ==
		      qp->rq_epoch[at]))
		return true;
	for (i = 0; i < r->num_sge; i++)
		if (r->sge[i].len &&
		    rosm_mr_check(inst->self, r->sge[i].lkey, r->sge[i].addr,
				  r->sge[i].len, qp->pd->number,
				  ROSM_ACCESS_LOCAL_WRITE, &va))
			return false;
	return true;
}

static void scatter(const struct rosm_wire_recv *r, const uint8_t *src,
		    uint32_t len)
{
	uint32_t i;

	for (i = 0; len && i < r->num_sge; i++) {
		uint32_t n = r->sge[i].len < len ? r->sge[i].len : len;

		ru_copy((void *)(uintptr_t)r->sge[i].addr, src, n);
		src += n;
		len -= n;
	}
}

/* Payload that lies in the slot or its chunk goes to the RECV's buffers. */
static enum rosm_wc_status deliver(struct rosm_qp *qp, struct rosm_cq *cq,
				   const struct rosm_wire_slot *slot,
				   uint64_t pos, uint8_t flags, uint32_t len,
				   uint32_t at)
{
	const struct rosm_wire_recv *r = rosm_qp_recv(qp, at);
	const uint8_t *src;

	if (len > r->len)
		return ROSM_WC_LOC_LEN_ERR;
	if (!recv_still_good(qp, r, at))
		return ROSM_WC_LOC_PROT_ERR;
	if (flags & ROSM_SLOT_F_INLINE) {
		if (len > ROSM_SLOT_RC_INLINE)
			return ROSM_WC_GENERAL_ERR;
		src = slot->rc.payload;
	} else {
		if (len > cq->ring.chunk_bytes)
			return ROSM_WC_GENERAL_ERR;
		src = rosm_ring_chunk(&cq->ring, pos);
	}
	scatter(r, src, len);
	return ROSM_WC_SUCCESS;
}

static void count_rx(struct rosm_qp *qp, uint8_t flags, uint32_t len)
{
	if (qp->conn.dst && (flags & (ROSM_SLOT_F_INLINE | ROSM_SLOT_F_CHUNK)))
		rosm_move_count(qp->conn.dst,
				flags & ROSM_SLOT_F_INLINE ?
					ROSM_MOVER_INLINE : ROSM_MOVER_CHUNK,
				false, len);
}

/* By our own descriptor: the index is a peer's word. */
static bool receives_here(struct rosm_cq *cq, uint32_t index)
{
	return index < atomic_load_explicit(&cq->inst->roh->qps,
					    memory_order_relaxed) &&
	       index < ROSM_WIRE_QPS &&
	       atomic_load_explicit(&cq->inst->qpd[index].ring_off,
				    memory_order_relaxed) == cq->ring.off;
}

bool rosm_arrival(struct rosm_cq *cq, struct rosm_wire_slot *slot, uint64_t pos,
		  struct rosm_wc *wc, struct rosm_qp **qp_out, bool *again_out)
{
	uint32_t qpn = slot->qpn, index = slot->src_qpn, len = slot->len32;
	uint32_t imm = slot->rc.imm, at, head;
	uint8_t kind = slot->kind, flags = slot->flags, st = slot->status;
	enum rosm_wc_status status = ROSM_WC_SUCCESS;
	struct rosm_qp *qp;
	uint32_t state;

	/* only a QP of this CQ cannot go while its lock is held */
	if (kind == ROSM_SLOT_NONE || !receives_here(cq, index))
		return false;
	qp = rosm_qp_at(cq->inst, index);
	if (!qp || qp->qpn != qpn || qp->recv_cq != cq)
		return false;
	state = atomic_load_explicit(&qp->state, memory_order_acquire);
	head = atomic_load_explicit(&qp->rq_head, memory_order_relaxed);
	if (state < ROSM_QPS_RTR || qp->rq_fault != ROSM_WC_SUCCESS ||
	    head == atomic_load_explicit(&qp->d->rq_posted,
					 memory_order_relaxed))
		return false;
	if (flags & (ROSM_SLOT_F_INLINE | ROSM_SLOT_F_CHUNK)) {
		/* the producer may be delivering these bytes itself */
		if (!rosm_ring_take(&cq->ring, slot, pos)) {
			*again_out = true;
			return false;
		}
		flags = slot->flags;
	}
	at = head & qp->rq_mask;
	switch (kind) {
	case ROSM_SLOT_SEND:
		if (flags & (ROSM_SLOT_F_INLINE | ROSM_SLOT_F_CHUNK))
			status = deliver(qp, cq, slot, pos, flags, len, at);
		else if (len > ROSM_MAX_MSG)
			status = ROSM_WC_GENERAL_ERR;
		count_rx(qp, flags, len);
		break;
	case ROSM_SLOT_WRITE_IMM:
		break;
	case ROSM_SLOT_RECV_ERR:
		status = st && st <= ROSM_WC_GENERAL_ERR ? st :
							   ROSM_WC_GENERAL_ERR;
		break;
	default:
		RU_WARN("qp", "qp 0x%x: arrival of unknown kind %u dropped",
			qpn, kind);
		return false;
	}

	wc->wr_id = qp->rq_wrid[at];
	wc->status = status;
	wc->opcode = kind == ROSM_SLOT_WRITE_IMM ? ROSM_WC_RECV_RDMA_WITH_IMM :
						   ROSM_WC_RECV;
	wc->vendor_err = 0;
	wc->byte_len = len;
	wc->imm = imm;
	wc->qp_num = qpn;
	wc->src_qp = qp->attr.dest_qp_num;
	wc->wc_flags = flags & ROSM_SLOT_F_IMM ? ROSM_WC_WITH_IMM : 0;
	wc->pkey_index = 0;
	wc->slid = qp->attr.ah.dlid;
	wc->sl = qp->attr.ah.sl;
	wc->dlid_path_bits = 0;
	*qp_out = qp;
	atomic_store_explicit(&qp->rq_head, head + 1, memory_order_release);
	if (status != ROSM_WC_SUCCESS) {
		qp->rq_fault = status;
		if (ru_list_empty(&qp->failed))
			ru_list_add_tail(&cq->failed, &qp->failed);
	}
	return true;
}
