/*
 * A GPU that is not there, described for cuDNN: the properties of an H100 SXM. cuDNN makes plans
 * for a description (CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, since 9.8) as for a GPU.
 */
#pragma once

#include <criterion/criterion.h>
#include <string.h>

#include "kernels/cuda/cuda.h"

static const char h100[] =
        "{\"deviceName\": \"NVIDIA H100 80GB HBM3\", \"deviceVer\": 900, \"driverVer\": 13000,"
        " \"cudaDeviceId\": 0, \"pciDeviceId\": 0, \"isTccDriver\": 0, \"supportCoopLaunch\": 1,"
        " \"multiProcessorCount\": 132, \"warpSize\": 32, \"smClockRateKHz\": 1980000,"
        " \"memClockRateKHz\": 2619000, \"memoryBusWidth\": 5120, \"totalGlobalMem\": 84929347584, "
        "\"l2CacheSize\": 52428800,"
        " \"maxGridSize\": [2147483647, 65535, 65535], \"maxBlockSize\": [1024, 1024, 64],"
        " \"maxThreadsPerBlock\": 1024, \"maxThreadsPerSM\": 2048, \"maxCtasPerSM\": 32,"
        " \"regsPerBlock\": 65536, \"maxRegistersPerSM\": 65536,"
        " \"maxSharedMemoryPerBlock\": 49152, \"maxSharedMemoryPerBlockOptin\": 232448,"
        " \"reservedSharedMemoryPerBlock\": 1024}";

/* Closed with ws_dnn_destroy(&target.properties). */
static inline struct ws_dnn_target described_gpu(void)
{
	struct ws_dnn_target target = {0};
	struct ws_err error = {0};
	struct ws_dnn_setter s;

	cr_assert_eq(ws_dnn_create(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, &target.properties, &s,
	                           &error),
	             WS_OK, "%s", error.text);
	ws_dnn_set(&s, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
	           (int64_t)strlen(h100), h100);
	cr_assert_eq(ws_dnn_finalize(&s, "described GPU", &error), WS_OK, "%s", error.text);
	return target;
}
