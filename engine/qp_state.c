/* SPDX-License-Identifier: BSD-2-Clause */
/* The state table of queue pairs; see qp_state.h. */
#include <config.h>

#include "engine/qp_state.h"

#include <errno.h>

enum column { COL_RC, COL_UC, COL_UD, COL_XRC_SEND, COL_XRC_RECV, COLUMNS };

struct step {
	bool valid;
	uint32_t need[COLUMNS];
	uint32_t may[COLUMNS];
};

#define PKEY		ROSM_QP_PKEY_INDEX
#define PORT		ROSM_QP_PORT
#define ACCESS		ROSM_QP_ACCESS_FLAGS
#define QKEY		ROSM_QP_QKEY
#define AV		ROSM_QP_AV
#define MTU		ROSM_QP_PATH_MTU
#define DEST		ROSM_QP_DEST_QPN
#define RQ_PSN		ROSM_QP_RQ_PSN
#define SQ_PSN		ROSM_QP_SQ_PSN
#define RD_IN		ROSM_QP_MAX_DEST_RD_ATOMIC
#define RD_OUT		ROSM_QP_MAX_QP_RD_ATOMIC
#define RNR_T		ROSM_QP_MIN_RNR_TIMER
#define TIMEOUT		ROSM_QP_TIMEOUT
#define RETRY		ROSM_QP_RETRY_CNT
#define RNR		ROSM_QP_RNR_RETRY
#define ALT		ROSM_QP_ALT_PATH
#define MIG		ROSM_QP_PATH_MIG_STATE
#define CUR		ROSM_QP_CUR_STATE
#define SQD_EV		ROSM_QP_EN_SQD_ASYNC_NOTIFY

#define CONNECTED_INIT	(PKEY | PORT | ACCESS)
#define RC_RTR		(AV | MTU | DEST | RQ_PSN | RD_IN | RNR_T)
#define UC_RTR		(AV | MTU | DEST | RQ_PSN)
#define RC_RTS		(TIMEOUT | RETRY | RNR | SQ_PSN | RD_OUT)
#define RC_LIVE		(CUR | ACCESS | ALT | MIG | RNR_T)
#define UC_LIVE		(CUR | ACCESS | ALT | MIG)
#define UD_LIVE		(CUR | QKEY)

#define ALL(x)		{ x, x, x, x, x }

static const struct step
	steps[ROSM_QPS_STATES][ROSM_QPS_STATES] = {
	[ROSM_QPS_RESET] = {
		[ROSM_QPS_INIT] = {
			.valid = true,
			.need = { CONNECTED_INIT, CONNECTED_INIT,
				  PKEY | PORT | QKEY, CONNECTED_INIT,
				  CONNECTED_INIT },
		},
	},
	[ROSM_QPS_INIT] = {
		[ROSM_QPS_INIT] = {
			.valid = true,
			.may = { CONNECTED_INIT, CONNECTED_INIT,
				 PKEY | PORT | QKEY, CONNECTED_INIT,
				 CONNECTED_INIT },
		},
		[ROSM_QPS_RTR] = {
			.valid = true,
			.need = { RC_RTR, UC_RTR, 0, UC_RTR, RC_RTR },
			.may = { ALT | ACCESS | PKEY, ALT | ACCESS | PKEY,
				 PKEY | QKEY, ALT | ACCESS | PKEY,
				 ALT | ACCESS | PKEY },
		},
	},
	[ROSM_QPS_RTR] = {
		[ROSM_QPS_RTS] = {
			.valid = true,
			.need = { RC_RTS, SQ_PSN, SQ_PSN, RC_RTS,
				  TIMEOUT | SQ_PSN },
			.may = { RC_LIVE, UC_LIVE, UD_LIVE, UC_LIVE, RC_LIVE },
		},
	},
	[ROSM_QPS_RTS] = {
		[ROSM_QPS_RTS] = {
			.valid = true,
			.may = { RC_LIVE, UC_LIVE, UD_LIVE, UC_LIVE, RC_LIVE },
		},
		[ROSM_QPS_SQD] = { .valid = true, .may = ALL(SQD_EV) },
	},
	[ROSM_QPS_SQD] = {
		[ROSM_QPS_RTS] = {
			.valid = true,
			.may = { RC_LIVE, UC_LIVE, UD_LIVE, UC_LIVE, RC_LIVE },
		},
		[ROSM_QPS_SQD] = {
			.valid = true,
			.may = {
				PORT | AV | TIMEOUT | RETRY | RNR | RD_OUT |
					RD_IN | ALT | ACCESS | PKEY | RNR_T |
					MIG,
				AV | ALT | ACCESS | PKEY | MIG,
				PKEY | QKEY,
				PORT | AV | TIMEOUT | RETRY | RNR | RD_OUT |
					ALT | ACCESS | PKEY | MIG,
				PORT | AV | TIMEOUT | RD_IN | ALT | ACCESS |
					PKEY | RNR_T | MIG,
			},
		},
	},
	[ROSM_QPS_SQE] = {
		[ROSM_QPS_RTS] = {
			.valid = true,
			.may = { 0, CUR | ACCESS, CUR | QKEY, 0, 0 },
		},
	},
};

static int column_of(enum rosm_qp_type type)
{
	switch (type) {
	case ROSM_QPT_RC:
		return COL_RC;
	case ROSM_QPT_UC:
		return COL_UC;
	case ROSM_QPT_UD:
		return COL_UD;
	case ROSM_QPT_XRC_SEND:
		return COL_XRC_SEND;
	case ROSM_QPT_XRC_RECV:
		return COL_XRC_RECV;
	default:
		return -1;
	}
}

/* SQE exists for the types whose errors leave the receive side alive. */
static bool has_sqe(int col)
{
	return col == COL_UC || col == COL_UD;
}

int rosm_qp_step(enum rosm_qp_type type, enum rosm_qp_state from,
		 enum rosm_qp_state to, uint32_t mask)
{
	const struct step *s;
	int col = column_of(type);

	if (col < 0 || from >= ROSM_QPS_STATES || to >= ROSM_QPS_STATES)
		return -EINVAL;
	if ((mask & CUR) && from < ROSM_QPS_RTR)
		return -EINVAL;
	mask &= ~(uint32_t)ROSM_QP_STATE;
	/* every state leads to RESET and ERR without further attributes */
	if (to == ROSM_QPS_RESET || to == ROSM_QPS_ERR)
		return mask & ~(uint32_t)CUR ? -EINVAL : 0;
	s = &steps[from][to];
	if (!s->valid || (from == ROSM_QPS_SQE && !has_sqe(col)))
		return -EINVAL;
	if ((mask & s->need[col]) != s->need[col] ||
	    (mask & ~(s->need[col] | s->may[col])))
		return -EINVAL;
	return 0;
}
