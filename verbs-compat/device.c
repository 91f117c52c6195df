/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The list of devices: ours first, then the system's. Ours are a static table
 * and outlive any list; the system's list is kept beside the merged one and
 * given back with it. A device belongs to us if it lies in the table.
 */
#include <config.h>

#include "verbs-compat/rvc.h"

#include "engine/rosm.h"
#include "verbs-compat/passthru.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct rvc_device own_table[1];

bool rvc_is_own_device(const struct ibv_device *ibdev)
{
	return ibdev == &own_table[0].ibdev;
}

/*
 * A name may be as long as ROSM_DEVICE_NAME allows, which is what fits. The
 * paths are where the kernel would show such a device; ibv_read_sysfs_file
 * knows ours.
 */
static void fill_device(struct rvc_device *dev)
{
	struct ibv_device *ibdev = &dev->ibdev;

	ibdev->node_type = IBV_NODE_CA;
	ibdev->transport_type = IBV_TRANSPORT_IB;
	snprintf(ibdev->name, sizeof(ibdev->name), "%s", rosm_device_name());
	snprintf(ibdev->dev_name, sizeof(ibdev->dev_name), "%s",
		 rosm_device_name());
	snprintf(ibdev->dev_path, sizeof(ibdev->dev_path),
		 "%.100s/class/infiniband_verbs/%s", ibv_get_sysfs_path(),
		 ibdev->dev_name);
	snprintf(ibdev->ibdev_path, sizeof(ibdev->ibdev_path),
		 "%.100s/class/infiniband/%s", ibv_get_sysfs_path(),
		 ibdev->name);
	dev->refcount = 1;
}

/* Filled once; a port that cannot be asked is asked again at the next call. */
int rvc_devices(struct rvc_device **table_out)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	static int count;
	struct rosm_port port;
	int n;

	pthread_mutex_lock(&mutex);
	if (!count && !rosm_device_port(&port)) {
		fill_device(&own_table[0]);
		own_table[0].guid = port.guid;
		count = 1;
	}
	n = count;
	pthread_mutex_unlock(&mutex);
	*table_out = own_table;
	return n;
}

/*
 * The array is a heap block of its own, because some programs (qperf) give it
 * to free(). Behind its terminating NULL comes the system's list.
 */
RVC_EXPORT struct ibv_device **ibv_get_device_list(int *num_devices)
{
	struct ibv_device **sys_list, **list;
	struct rvc_device *own;
	int n_own, n_sys;

	n_own = rvc_devices(&own);
	sys_list = rvc_sys_device_list(&n_sys);
	list = calloc((size_t)(n_own + n_sys) + 2, sizeof(*list));
	if (!list) {
		if (sys_list)
			rvc_sys.ibv_free_device_list(sys_list);
		if (num_devices)
			*num_devices = 0;
		return rvc_null(ENOMEM);
	}
	for (int i = 0; i < n_own; i++)
		list[i] = &own[i].ibdev;
	if (n_sys)
		memcpy(&list[n_own], sys_list, (size_t)n_sys * sizeof(*list));
	list[n_own + n_sys + 1] = (struct ibv_device *)sys_list;
	if (num_devices)
		*num_devices = n_own + n_sys;
	return list;
}

RVC_EXPORT void ibv_free_device_list(struct ibv_device **list)
{
	struct ibv_device **end = list;

	if (!list)
		return;
	while (*end)
		end++;
	if (end[1])
		rvc_sys.ibv_free_device_list((struct ibv_device **)end[1]);
	free(list);
}

RVC_EXPORT const char *ibv_get_device_name(struct ibv_device *device)
{
	return device->name;
}

RVC_EXPORT __be64 ibv_get_device_guid(struct ibv_device *device)
{
	if (!rvc_is_own_device(device))
		return rvc_sys.ibv_get_device_guid(device);
	return ((struct rvc_device *)device)->guid;
}

/* Indexes are the kernel's, which does not know ours: ibv_get_device_index(3). */
RVC_EXPORT int ibv_get_device_index(struct ibv_device *device)
{
	if (!rvc_is_own_device(device))
		return rvc_sys.ibv_get_device_index(device);
	return -1;
}
