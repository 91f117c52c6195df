/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Addresses as programs see them: records of ROSM_NAME_BYTES. Most are names
 * of endpoints, made and read by the engine alone. The others stand for a
 * service, from node and service strings or a socket address, and become a
 * name when an endpoint first uses them, so that they can be made before the
 * other side has started:
 *
 *	offset 0  "RS"
 *	       2  version 1, little endian
 *	       4  "service" or "node:service", NUL-terminated
 *
 * An empty string is the source address "any": an endpoint that has it binds no
 * service.
 *
 * A node that means this machine (nothing, localhost, a loopback or own
 * address, the host's name) is left out, so that 127.0.0.1 and the host name
 * lead to the same endpoint. Another node's name is kept as it is written.
 */
#include <config.h>

#include "prov/rfi.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define SERVICE_BYTES	(ROSM_NAME_BYTES - 4)

struct service_addr {
	char magic[2];
	uint16_t version;
	char key[SERVICE_BYTES];
};

_Static_assert(sizeof(struct service_addr) == ROSM_NAME_BYTES, "one record");

static const struct service_addr any_addr = {
	.magic = { 'R', 'S' },
	.version = 1,
};

bool rfi_addr_is_service(const void *addr)
{
	struct service_addr a;

	memcpy(&a, addr, sizeof(a));
	return !memcmp(a.magic, any_addr.magic, sizeof(a.magic)) &&
	       a.version == any_addr.version && a.key[0] &&
	       memchr(a.key, '\0', sizeof(a.key));
}

bool rfi_addr_is_any(const void *addr, size_t len)
{
	return len == sizeof(any_addr) && !memcmp(addr, &any_addr, len);
}

void rfi_addr_make_any(uint8_t addr_out[ROSM_NAME_BYTES])
{
	memcpy(addr_out, &any_addr, sizeof(any_addr));
}

const char *rfi_addr_service(const void *addr)
{
	if (!rfi_addr_is_service(addr))
		return NULL;
	return (const char *)addr + offsetof(struct service_addr, key);
}

bool rfi_addr_valid(const void *addr, size_t len)
{
	return len == ROSM_NAME_BYTES &&
	       (rosm_name_valid(addr, len) || rfi_addr_is_service(addr));
}

int rfi_addr_print(const void *addr, char *buf, size_t len)
{
	char name[ROSM_NAME_STR_MAX];
	const char *service = rfi_addr_service(addr);

	if (service)
		return snprintf(buf, len, "rosm-service://%s", service);
	if (rosm_name_print(addr, name, sizeof(name)) < 0)
		return snprintf(buf, len, "rosm://?");
	return snprintf(buf, len, "%s", name);
}

/* ---- this machine --------------------------------------------------- */

static bool node_is_interface(int family, const void *ip)
{
	struct ifaddrs *all, *one;
	bool found = false;

	if (getifaddrs(&all))
		return false;
	for (one = all; one && !found; one = one->ifa_next) {
		const struct sockaddr *sa = one->ifa_addr;

		if (!sa || sa->sa_family != family)
			continue;
		if (family == AF_INET)
			found = !memcmp(&((const struct sockaddr_in *)sa)
					->sin_addr, ip, sizeof(struct in_addr));
		else
			found = !memcmp(&((const struct sockaddr_in6 *)sa)
					->sin6_addr, ip,
					sizeof(struct in6_addr));
	}
	freeifaddrs(all);
	return found;
}

static bool node_is_here(const char *node)
{
	char host[256];
	struct in6_addr ip6;
	struct in_addr ip4;

	if (!*node || !strcasecmp(node, "localhost"))
		return true;
	if (inet_pton(AF_INET, node, &ip4) == 1)
		return ip4.s_addr == htonl(INADDR_ANY) ||
		       ntohl(ip4.s_addr) >> 24 == IN_LOOPBACKNET ||
		       node_is_interface(AF_INET, &ip4);
	if (inet_pton(AF_INET6, node, &ip6) == 1)
		return IN6_IS_ADDR_LOOPBACK(&ip6) ||
		       IN6_IS_ADDR_UNSPECIFIED(&ip6) ||
		       node_is_interface(AF_INET6, &ip6);
	return !gethostname(host, sizeof(host)) &&
	       !strncasecmp(host, node, sizeof(host));
}

/* ---- making --------------------------------------------------------- */

static uint64_t hash_text(const char *text)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	for (; *text; text++)
		h = (h ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
	return h;
}

int rfi_addr_make(const char *node, const char *service,
		  uint8_t addr_out[ROSM_NAME_BYTES])
{
	struct service_addr a = any_addr;
	char text[1024];
	int len;

	if (node && !rosm_name_parse(node, addr_out))
		return 0;
	if (node && node_is_here(node))
		node = NULL;
	if (!node && (!service || !*service))
		return -FI_EINVAL;
	len = snprintf(text, sizeof(text), "%s%s%s", node ? node : "",
		       node ? ":" : "", service ? service : "");
	if (len < 0 || (size_t)len >= sizeof(text))
		return -FI_EINVAL;
	if ((size_t)len < sizeof(a.key))
		memcpy(a.key, text, (size_t)len);
	else
		snprintf(a.key, sizeof(a.key), "%.40s#%016llx", text,
			 (unsigned long long)hash_text(text));
	memcpy(addr_out, &a, sizeof(a));
	return 0;
}

int rfi_addr_make_sockaddr(const void *sa, size_t len,
			   uint8_t addr_out[ROSM_NAME_BYTES])
{
	char node[INET6_ADDRSTRLEN], service[16];
	struct sockaddr_in6 in6;
	struct sockaddr_in in;
	sa_family_t family;

	if (len < sizeof(in))
		return -FI_EINVAL;
	memcpy(&family, (const char *)sa + offsetof(struct sockaddr, sa_family),
	       sizeof(family));
	if (family == AF_INET) {
		memcpy(&in, sa, sizeof(in));
		inet_ntop(AF_INET, &in.sin_addr, node, sizeof(node));
		snprintf(service, sizeof(service), "%u", ntohs(in.sin_port));
	} else if (family == AF_INET6 && len >= sizeof(in6)) {
		memcpy(&in6, sa, sizeof(in6));
		inet_ntop(AF_INET6, &in6.sin6_addr, node, sizeof(node));
		snprintf(service, sizeof(service), "%u", ntohs(in6.sin6_port));
	} else {
		return -FI_EINVAL;
	}
	/* Port 0: any, as if nothing had been said. */
	return rfi_addr_make(node, strcmp(service, "0") ? service : NULL,
			     addr_out);
}
