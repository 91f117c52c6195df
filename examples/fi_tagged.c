/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Plain libfabric, nothing of rosm: two processes open a reliable datagram
 * endpoint each, and the child sends the parent a tagged message. Which provider
 * carries it is FI_PROVIDER's choice. Build: cc fi_tagged.c -lfabric
 * Run over rosm: rosm run -- ./a.out
 */
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_tagged.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define MUST(cond) \
	do { \
		if (!(cond)) { \
			fprintf(stderr, "line %d: %s\n", __LINE__, #cond); \
			exit(1); \
		} \
	} while (0)

static int side(int sock, int is_sender)
{
	struct fi_info *hints = fi_allocinfo(), *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_ep *ep;
	struct fid_av *av;
	struct fid_cq *cq;
	struct fi_cq_tagged_entry done;
	char buf[64] = "", me[64] = "", you[64];
	size_t len = sizeof(me);
	fi_addr_t peer;
	ssize_t rc;

	hints->ep_attr->type = FI_EP_RDM;
	hints->caps = FI_TAGGED;
	MUST(!fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &info));
	MUST(!fi_fabric(info->fabric_attr, &fabric, NULL));
	MUST(!fi_domain(fabric, info, &domain, NULL));
	MUST(!fi_av_open(domain, &(struct fi_av_attr){ .type = FI_AV_TABLE }, &av, NULL));
	MUST(!fi_cq_open(domain, &(struct fi_cq_attr){ .format = FI_CQ_FORMAT_TAGGED },
			 &cq, NULL));
	MUST(!fi_endpoint(domain, info, &ep, NULL));
	MUST(!fi_ep_bind(ep, &av->fid, 0));
	MUST(!fi_ep_bind(ep, &cq->fid, FI_SEND | FI_RECV));
	MUST(!fi_enable(ep));

	/* Addresses are opaque bytes; how they travel is the program's business. */
	MUST(!fi_getname(&ep->fid, me, &len));
	MUST(write(sock, me, sizeof(me)) == sizeof(me));
	MUST(read(sock, you, sizeof(you)) == sizeof(you));
	MUST(fi_av_insert(av, you, 1, &peer, 0, NULL) == 1);

	do {
		if (is_sender) {
			snprintf(buf, sizeof(buf), "hello from %d", (int)getpid());
			rc = fi_tsend(ep, buf, sizeof(buf), NULL, peer, 42, NULL);
		} else {
			rc = fi_trecv(ep, buf, sizeof(buf), NULL, peer, 42, 0, NULL);
		}
	} while (rc == -FI_EAGAIN);
	MUST(rc == 0);
	while ((rc = fi_cq_read(cq, &done, 1)) == -FI_EAGAIN)
		;
	MUST(rc == 1);
	if (!is_sender)
		printf("%s: tag %llu, \"%s\"\n", info->fabric_attr->prov_name,
		       (unsigned long long)done.tag, buf);
	/* Neither leaves before both are done. */
	MUST(write(sock, "x", 1) == 1 && read(sock, buf, 1) == 1);
	MUST(!fi_close(&ep->fid) && !fi_close(&cq->fid) && !fi_close(&av->fid));
	MUST(!fi_close(&domain->fid) && !fi_close(&fabric->fid));
	fi_freeinfo(info);
	fi_freeinfo(hints);
	return 0;
}

int main(void)
{
	int sv[2], status, rc;

	MUST(!socketpair(AF_UNIX, SOCK_STREAM, 0, sv));
	pid_t child = fork();
	if (!child)
		return side(sv[1], 1);
	rc = side(sv[0], 0);
	return waitpid(child, &status, 0) != child || status || rc;
}
