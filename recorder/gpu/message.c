#include "recorder/gpu/message.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/xalloc.h"

#define CUDA_ERROR_NO_DEVICE 100

/* The program can still write there: nothing is trusted to end. */
static void take_text(char *out, size_t size, const char *field)
{
	memcpy(out, field, size);
	out[size - 1] = 0;
}

struct ws_gpu_report ws_gpu_report(const struct ws_seg_gpu *gpu)
{
	struct ws_gpu_report report = {
	        .state = atomic_load(&gpu->state),
	        .result = gpu->result,
	        .cupti_version = atomic_load(&gpu->cupti_version),
	        .stopped = atomic_load(&gpu->stopped),
	};

	take_text(report.text, sizeof(report.text), gpu->text);
	take_text(report.last_error, sizeof(report.last_error), gpu->last_error);
	take_text(report.second, sizeof(report.second), gpu->second);
	return report;
}

const char *ws_gpu_problem(const struct ws_gpu_report *r, char *out, size_t size)
{
	const char *text = *r->text ? r->text : "of an unknown name";

	switch (r->state) {
	case WS_GPU_NONE:
	case WS_GPU_ON:
		return NULL;
	case WS_GPU_CUPTI_MISSING:
		snprintf(out, size,
		         "CUPTI is not found%s%s. Install the CUPTI of the program's CUDA "
		         "version, or name its folder in WARPSHEET_CUPTI_PATH",
		         *r->text ? ": " : "", r->text);
		break;
	case WS_GPU_CUPTI_TOO_OLD:
		snprintf(out, size,
		         "CUPTI %u is too old (%s). Install a newer one, or name its folder in "
		         "WARPSHEET_CUPTI_PATH",
		         (unsigned)r->cupti_version, text);
		break;
	case WS_GPU_CUPTI_LACKS:
		snprintf(out, size, "CUPTI %s; install that of a CUDA toolkit", text);
		break;
	case WS_GPU_OTHER_TOOL:
		snprintf(out, size,
		         "another tool uses CUPTI (%s), and CUPTI serves one tool at a time. "
		         "Run the program without that tool",
		         text);
		break;
	case WS_GPU_NOT_PERMITTED:
		snprintf(out, size,
		         "the driver does not permit profiling (%s). Ask for the permission, or "
		         "see NVreg_RestrictProfilingToAdminUsers",
		         text);
		break;
	case WS_GPU_CUPTI_FAILED:
		snprintf(out, size, "CUPTI failed (%s, result %d)", text, r->result);
		break;
	default: /* written by the program over its segment */
		return NULL;
	}
	return out;
}

const char *ws_gpu_warning(enum ws_gpu_stop stop, const struct ws_gpu_report *r, char *out,
                           size_t size)
{
	switch (stop) {
	case WS_GPU_STOP_TAKEN:
		snprintf(out, size,
		         "a profiler inside the program (PyTorch's, for example) took CUPTI "
		         "over. GPU work since then is not recorded; its launches are counted "
		         "(launch_not_told). Record without that profiler, or with CUPTI 13.3 "
		         "or later, which serves both");
		break;
	case WS_GPU_STOP_FATAL:
		snprintf(out, size,
		         "CUPTI failed (%s) and stopped. GPU work since then is not recorded",
		         *r->last_error ? r->last_error : "it did not say which");
		break;
	case WS_GPU_STOP_CLOCK:
		snprintf(out, size,
		         "a profiler inside the program gave CUPTI its own clock. GPU work "
		         "measured by it has no times here. Record without that profiler");
		break;
	case WS_GPU_STOP_FOREIGN:
		snprintf(out, size,
		         "records for a profiler inside the program came here and were left "
		         "out. That profiler misses them. Record without it");
		break;
	case WS_GPU_STOP_SECOND:
		snprintf(out, size,
		         "the program has loaded a second CUPTI (%s). As a rule a driver serves "
		         "one. If kernels are missing, here or in the program's own profile, "
		         "record without the profiler that loads it",
		         r->second);
		break;
	case WS_GPU_STOP_FLAWED:
		snprintf(out, size,
		         "this CUPTI is that of CUDA 13.0. It can crash a program, and reports no "
		         "waits of cudaDeviceSynchronize. Install that of 13.0 Update 1 or later, "
		         "or name its folder in WARPSHEET_CUPTI_PATH");
		break;
	default:
		return NULL;
	}
	return out;
}

const char *ws_gpu_absence(char *out, size_t size)
{
	void *driver;
	int (*init)(unsigned int) = NULL;
	int result = 0;

	/* ours is not the program to be recorded */
	unsetenv("CUDA_INJECTION64_PATH");
	driver = ws_xdlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	if (driver)
		*(void **)&init = dlsym(driver, "cuInit");
	if (init)
		result = init(0);
	if (!init)
		snprintf(out, size,
		         "no NVIDIA driver: libcuda.so.1 cannot be loaded. Install the driver, "
		         "or start the container with its GPUs");
	else if (result == CUDA_ERROR_NO_DEVICE)
		snprintf(out, size,
		         "the driver finds no GPU. Check nvidia-smi, CUDA_VISIBLE_DEVICES and "
		         "the container's GPUs");
	else if (result)
		snprintf(out, size, "the driver does not start (CUDA error %d). Check nvidia-smi",
		         result);
	else
		snprintf(out, size,
		         "there is a GPU, but the program never initialized CUDA. Or it is "
		         "statically linked, runs as another user, or clears its environment");
	return out;
}
