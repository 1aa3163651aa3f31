#include "recorder/launch/launch.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>

/* --- is a program one of CUDA? --- */

/* Prefixes of file names; PyTorch's libraries have a hash in the middle of the name. */
static const char *const libraries[] = {"libcuda.so.", "libcudart", "libcublas", "libcudnn"};
#define NLIBRARIES (sizeof(libraries) / sizeof(*libraries))

/* --- a file --- */

/* Of a large file only the begin (names of libraries) and the end (names of sections) are read:
 * reading all of it would take about a second per gigabyte. */
#define BEGIN_BYTES ((size_t)64 << 20)
#define END_BYTES   ((size_t)1 << 20)

/* Device code is in a section with its own name; names of libraries are strings. */
static bool uses_cuda(const uint8_t *bytes, size_t size)
{
	bool found = memmem(bytes, size, ".nv_fatbin", sizeof(".nv_fatbin")) != NULL;

	for (size_t i = 0; i < NLIBRARIES && !found; i++) {
		char name[16] = "";

		memcpy(name + 1, libraries[i], strlen(libraries[i]));
		found = memmem(bytes, size, name, 1 + strlen(libraries[i])) != NULL;
	}
	return found;
}

int ws_cuda_use_of_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), result = 0;
	struct stat st;

	if (fd < 0)
		return 0;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size > 0) {
		size_t size = (size_t)st.st_size;
		uint8_t *bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (bytes != MAP_FAILED) {
			result = uses_cuda(bytes, size < BEGIN_BYTES ? size : BEGIN_BYTES) ||
			         (size > BEGIN_BYTES &&
			          uses_cuda(bytes + size - END_BYTES, END_BYTES));
			munmap(bytes, size);
		}
	}
	close(fd);
	return result;
}

/* --- a process --- */

int ws_cuda_use_of_process(uint32_t pid)
{
	char path[32], line[PATH_MAX + 128];
	int found = 0;

	snprintf(path, sizeof(path), "/proc/%u/maps", (unsigned)pid);
	FILE *f = ws_xopened(fopen(path, "re"));
	while (f && !found && fgets(line, sizeof(line), f)) {
		const char *name = strrchr(line, '/');

		for (size_t i = 0; name && !found && i < NLIBRARIES; i++)
			found = !strncmp(name + 1, libraries[i], strlen(libraries[i]));
	}
	if (f)
		fclose(f);
	return found;
}

/* --- why GPU work is missing --- */

#define CUDA_ERROR_NO_DEVICE 100

/* The program can still write there, so texts may have no NUL. */
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
	default: /* invalid value: the program overwrote its segment */
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
	int (*init)(unsigned int) = NULL;
	int result = 0;

	/* our own process is not recorded */
	unsetenv("CUDA_INJECTION64_PATH");
	void *driver = ws_xdlopen("libcuda.so.1");
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

/* --- readings of the GPUs --- */

#define NVML_CLOCK_SM     1
#define NVML_CLOCK_MEMORY 2
#define NVML_SENSOR_GPU   0
#define MAX_GPUS          64u

/* nvmlPciInfo_t, as nvmlDeviceGetPciInfo_v3 fills it. */
struct pci_info {
	char legacy_id[16];
	unsigned domain, bus, device, device_id, subsystem_id;
	char id[32];
};

/* X(function, parameters); all return 0 on success. */
#define NVML_LIST(X)                                                                    \
	X(nvmlInit_v2, (void))                                                          \
	X(nvmlSystemGetDriverVersion, (char *text, unsigned size))                      \
	X(nvmlDeviceGetCount_v2, (unsigned *n))                                         \
	X(nvmlDeviceGetHandleByIndex_v2, (unsigned i, void **gpu))                      \
	X(nvmlDeviceGetName, (void *gpu, char *text, unsigned size))                    \
	X(nvmlDeviceGetPciInfo_v3, (void *gpu, struct pci_info *info))                  \
	X(nvmlDeviceGetEnforcedPowerLimit, (void *gpu, unsigned *mw))                   \
	X(nvmlDeviceGetPowerUsage, (void *gpu, unsigned *mw))                           \
	X(nvmlDeviceGetTotalEnergyConsumption, (void *gpu, unsigned long long *mj))     \
	X(nvmlDeviceGetClockInfo, (void *gpu, int clock, unsigned *mhz))                \
	X(nvmlDeviceGetDefaultApplicationsClock, (void *gpu, int clock, unsigned *mhz)) \
	X(nvmlDeviceSetGpuLockedClocks, (void *gpu, unsigned least, unsigned most))     \
	X(nvmlDeviceResetGpuLockedClocks, (void *gpu))                                  \
	X(nvmlDeviceGetTemperature, (void *gpu, int sensor, unsigned *deg))             \
	X(nvmlDeviceGetCurrentClocksThrottleReasons, (void *gpu, unsigned long long *bits))

static struct {
	int tried;
	const char *absent;            /* why GPUs cannot be queried; NULL: they can */
	unsigned locked_mhz[MAX_GPUS]; /* by ws_gpu_lock_clocks; 0: not locked */
#define X(name, parameters) int(*name) parameters;
	NVML_LIST(X)
#undef X
} nvml;

/* NULL: NVML can be asked. Functions missing in an older library stay NULL, and their values are
 * left out. */
static const char *nvml_absent(void)
{
	if (nvml.tried)
		return nvml.absent;
	nvml.tried = 1;
	void *lib = ws_xdlopen("libnvidia-ml.so.1");
	if (!lib)
		return nvml.absent = "none: NVML (libnvidia-ml.so.1) is not here";
#define X(name, parameters) *(void **)&nvml.name = dlsym(lib, #name);
	NVML_LIST(X)
#undef X
	if (!nvml.nvmlInit_v2 || !nvml.nvmlDeviceGetCount_v2 || !nvml.nvmlDeviceGetHandleByIndex_v2)
		return nvml.absent = "none: NVML is too old";
	return nvml.absent = nvml.nvmlInit_v2() ? "none: NVML does not start" : NULL;
}

/* --- clocks --- */

#define NVML_NO_PERMISSION 4

void ws_gpu_unlock_clocks(void)
{
	void *gpu;

	for (unsigned i = 0; i < MAX_GPUS; i++) {
		if (nvml.locked_mhz[i] && !nvml.nvmlDeviceGetHandleByIndex_v2(i, &gpu))
			nvml.nvmlDeviceResetGpuLockedClocks(gpu);
		nvml.locked_mhz[i] = 0;
	}
}

static enum ws_status lock_clocks(struct ws_err *err)
{
	unsigned n = 0, mhz;
	void *gpu;

	WS_FAIL_IF(nvml_absent(), err, ENVIRONMENT, "--lock-clocks: %s",
	           nvml_absent() + strlen("none: "));
	WS_FAIL_IF(nvml.nvmlDeviceGetCount_v2(&n) || !n || n > MAX_GPUS, err, ENVIRONMENT,
	           "--lock-clocks: NVML lists no GPU");
	for (unsigned i = 0; i < n; i++) {
		WS_FAIL_IF(!nvml.nvmlDeviceSetGpuLockedClocks ||
		                   !nvml.nvmlDeviceResetGpuLockedClocks ||
		                   !nvml.nvmlDeviceGetDefaultApplicationsClock ||
		                   nvml.nvmlDeviceGetHandleByIndex_v2(i, &gpu) ||
		                   nvml.nvmlDeviceGetDefaultApplicationsClock(gpu, NVML_CLOCK_SM,
		                                                              &mhz) ||
		                   !mhz,
		           err, ENVIRONMENT,
		           "--lock-clocks: GPU %u has no rated clock, or the driver cannot lock it",
		           i);
		int result = nvml.nvmlDeviceSetGpuLockedClocks(gpu, mhz, mhz);
		WS_FAIL_IF(result == NVML_NO_PERMISSION, err, ENVIRONMENT,
		           "--lock-clocks: this user may not lock the clocks of GPU %u. Run as "
		           "root, or have an administrator do it: nvidia-smi -lgc %u",
		           i, mhz);
		WS_FAIL_IF(result, err, ENVIRONMENT,
		           "--lock-clocks: the driver does not lock the clocks of GPU %u (NVML "
		           "error %d)",
		           i, result);
		nvml.locked_mhz[i] = mhz;
	}
	return WS_OK;
}

enum ws_status ws_gpu_lock_clocks(struct ws_err *err)
{
	ws_out_of_memory_first(ws_gpu_unlock_clocks);
	enum ws_status status = lock_clocks(err);
	if (status != WS_OK)
		ws_gpu_unlock_clocks();
	return status;
}

/* --- rows --- */

/* Adds a row of GPU `gpu` at this time; "" for values that do not change. */
static void add_text(struct ws_drain *d, unsigned gpu, const char *when, const char *key,
                     const char *value)
{
	char name[96];

	snprintf(name, sizeof(name), "gpu.%u.%s%s%s", gpu, when, *when ? "." : "", key);
	ws_drain_add_meta(d, name, "%s", value);
}

static void add_number(struct ws_drain *d, unsigned gpu, const char *when, const char *key,
                       unsigned long long value)
{
	char text[24];

	snprintf(text, sizeof(text), "%llu", value);
	add_text(d, gpu, when, key, text);
}

/* True if NVML has the function and it succeeded. */
#define NVML_TELLS(function, ...) (nvml.function && !nvml.function(__VA_ARGS__))

void ws_gpu_readings_add(struct ws_drain *d, const char *when, int is_first)
{
	char version[96] = "";
	unsigned n = 0;
	void *gpu;

	if (nvml_absent()) {
		if (is_first)
			ws_drain_add_meta(d, "gpu.readings", "%s", nvml_absent());
		return;
	}
	if (is_first && NVML_TELLS(nvmlSystemGetDriverVersion, version, sizeof(version)))
		ws_drain_add_meta(d, "gpu.driver_version", "%s", version);
	if (nvml.nvmlDeviceGetCount_v2(&n) || n > MAX_GPUS)
		return;
	for (unsigned i = 0; i < n; i++) {
		if (nvml.nvmlDeviceGetHandleByIndex_v2(i, &gpu))
			continue;
		if (is_first) {
			struct pci_info pci = {0};
			char name[96] = "";
			unsigned value;

			if (NVML_TELLS(nvmlDeviceGetName, gpu, name, sizeof(name)))
				add_text(d, i, "", "name", name);
			if (NVML_TELLS(nvmlDeviceGetPciInfo_v3, gpu, &pci))
				add_number(d, i, "", "pci_bus", pci.bus);
			if (NVML_TELLS(nvmlDeviceGetEnforcedPowerLimit, gpu, &value))
				add_number(d, i, "", "power_limit_mw", value);
			if (nvml.locked_mhz[i])
				add_number(d, i, "", "locked_mhz", nvml.locked_mhz[i]);
		}

		unsigned long long bits;
		char throttle[256];
		unsigned value;

		if (NVML_TELLS(nvmlDeviceGetClockInfo, gpu, NVML_CLOCK_SM, &value))
			add_number(d, i, when, "sm_clock_mhz", value);
		if (NVML_TELLS(nvmlDeviceGetClockInfo, gpu, NVML_CLOCK_MEMORY, &value))
			add_number(d, i, when, "memory_clock_mhz", value);
		if (NVML_TELLS(nvmlDeviceGetPowerUsage, gpu, &value))
			add_number(d, i, when, "power_mw", value);
		if (NVML_TELLS(nvmlDeviceGetTemperature, gpu, NVML_SENSOR_GPU, &value))
			add_number(d, i, when, "temperature_c", value);
		if (!NVML_TELLS(nvmlDeviceGetCurrentClocksThrottleReasons, gpu, &bits))
			continue;
		add_text(d, i, when, "throttle", ws_throttle_words(bits, throttle));
	}
}

/* --- samples of the GPUs in use --- */

enum { MAX_WAITING = 1024, LAST_WAIT_S = 2 };

/* A GPU of the machine. */
struct sampled_gpu {
	void *handle;
	struct ws_gpu_address address;
	bool is_watched;
	unsigned given; /* bit n: value n was read at least once */
};

/* Shared by the launcher and the thread, under the lock. */
static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed; /* must_end or has_ended */
	bool has_begun, has_thread, must_end, has_ended;
	pthread_t thread;
	int64_t every_ns;
	struct sampled_gpu gpus[MAX_GPUS];
	unsigned ngpus;
	struct ws_gpu_sample waiting[MAX_WAITING];
	size_t nwaiting;
	uint64_t late;
} sampler = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Value number `which` in the row, -1 if it was not given. result: of its call; -1: this NVML has
 * no such function. */
static int64_t take_value(struct ws_gpu_sample *s, unsigned *given, unsigned which,
                          const char *name, int result, unsigned long long value)
{
	if (!result && value <= INT64_MAX) {
		*given |= 1u << which;
		s->ngiven++;
		return (int64_t)value;
	}
	if ((*given >> which & 1) && !s->nfailed++) {
		s->failed = name;
		s->result = result;
	}
	return -1;
}

static void read_sample(void *gpu, unsigned *given, struct ws_gpu_sample *s)
{
	unsigned long long long_value = 0;
	unsigned value = 0;
	const int64_t begin_ns = ws_clock_ns(CLOCK_MONOTONIC);

#define TAKE(which, column, name, function, variable, ...)                               \
	do {                                                                             \
		const int result = nvml.function ? nvml.function(gpu, __VA_ARGS__) : -1; \
                                                                                         \
		s->row.column = take_value(s, given, which, name, result, variable);     \
	} while (0)
	TAKE(0, energy_mj, "energy", nvmlDeviceGetTotalEnergyConsumption, long_value, &long_value);
	s->row.time_ns = begin_ns + (ws_clock_ns(CLOCK_MONOTONIC) - begin_ns) / 2;
	TAKE(1, power_mw, "power", nvmlDeviceGetPowerUsage, value, &value);
	TAKE(2, sm_mhz, "SM clock", nvmlDeviceGetClockInfo, value, NVML_CLOCK_SM, &value);
	TAKE(3, memory_mhz, "memory clock", nvmlDeviceGetClockInfo, value, NVML_CLOCK_MEMORY,
	     &value);
	TAKE(4, temperature_c, "temperature", nvmlDeviceGetTemperature, value, NVML_SENSOR_GPU,
	     &value);
	TAKE(5, throttle, "throttle reasons", nvmlDeviceGetCurrentClocksThrottleReasons, long_value,
	     &long_value);
#undef TAKE
}

static void *sample_gpus(void *unused)
{
	int64_t next_ns = ws_clock_ns(CLOCK_MONOTONIC), now_ns;
	bool is_last = false;

	(void)unused;
	pthread_mutex_lock(&sampler.lock);
	while (!is_last) {
		is_last = sampler.must_end;
		for (unsigned i = 0; i < sampler.ngpus; i++) {
			struct sampled_gpu *gpu = &sampler.gpus[i];
			struct ws_gpu_sample sample = {.gpu = gpu->address};

			if (!gpu->is_watched)
				continue;
			/* handle and `given` are used by this thread only */
			pthread_mutex_unlock(&sampler.lock);
			read_sample(gpu->handle, &gpu->given, &sample);
			pthread_mutex_lock(&sampler.lock);
			if (sampler.nwaiting < MAX_WAITING)
				sampler.waiting[sampler.nwaiting++] = sample;
			else
				sampler.late++;
		}
		now_ns = ws_clock_ns(CLOCK_MONOTONIC);
		next_ns += sampler.every_ns;
		if (next_ns < now_ns)
			next_ns = now_ns + sampler.every_ns;
		const struct timespec until = {next_ns / 1000000000, next_ns % 1000000000};
		while (!is_last && !sampler.must_end &&
		       !pthread_cond_timedwait(&sampler.changed, &sampler.lock, &until))
			;
	}
	sampler.has_ended = true;
	pthread_cond_signal(&sampler.changed);
	pthread_mutex_unlock(&sampler.lock);
	return NULL;
}

static void begin_samples(void)
{
	pthread_condattr_t by_clock;
	unsigned n = 0;

	sampler.has_begun = true;
	if (nvml_absent() || nvml.nvmlDeviceGetCount_v2(&n) || n > MAX_GPUS)
		return;
	for (unsigned i = 0; i < n; i++) {
		struct sampled_gpu *gpu = &sampler.gpus[sampler.ngpus];
		struct pci_info pci = {0};

		if (nvml.nvmlDeviceGetHandleByIndex_v2(i, &gpu->handle) ||
		    !NVML_TELLS(nvmlDeviceGetPciInfo_v3, gpu->handle, &pci))
			continue;
		gpu->address = (struct ws_gpu_address){pci.domain, pci.bus, pci.device};
		sampler.ngpus++;
	}
	pthread_condattr_init(&by_clock);
	pthread_condattr_setclock(&by_clock, CLOCK_MONOTONIC);
	pthread_cond_init(&sampler.changed, &by_clock);
	pthread_condattr_destroy(&by_clock);
}

void ws_gpu_samples_watch(const struct ws_gpu_address *gpus, size_t n, int64_t every_ms)
{
	bool is_any = false;

	if (!sampler.has_begun)
		begin_samples();
	pthread_mutex_lock(&sampler.lock);
	sampler.every_ns = every_ms * 1000000;
	for (unsigned i = 0; i < sampler.ngpus; i++) {
		struct sampled_gpu *gpu = &sampler.gpus[i];

		gpu->is_watched = false;
		for (size_t j = 0; j < n; j++)
			gpu->is_watched |= !memcmp(&gpu->address, &gpus[j], sizeof(*gpus));
		is_any |= gpu->is_watched;
	}
	if (is_any && !sampler.has_thread) {
		sampler.must_end = sampler.has_ended = false;
		sampler.has_thread = !pthread_create(&sampler.thread, NULL, sample_gpus, NULL);
		if (!sampler.has_thread) {
			ws_record_notice("the GPUs are not sampled: no thread can be started");
			sampler.ngpus = 0;
		}
	}
	pthread_mutex_unlock(&sampler.lock);
}

size_t ws_gpu_samples_take(struct ws_gpu_sample *out, size_t most, uint64_t *late)
{
	pthread_mutex_lock(&sampler.lock);
	size_t n = sampler.nwaiting < most ? sampler.nwaiting : most;
	memcpy(out, sampler.waiting, n * sizeof(*out));
	sampler.nwaiting -= n;
	memmove(sampler.waiting, sampler.waiting + n, sampler.nwaiting * sizeof(*out));
	*late += sampler.late;
	sampler.late = 0;
	pthread_mutex_unlock(&sampler.lock);
	return n;
}

bool ws_gpu_samples_end(void)
{
	const int64_t until_ns = ws_clock_ns(CLOCK_MONOTONIC) + LAST_WAIT_S * INT64_C(1000000000);
	const struct timespec until = {until_ns / 1000000000, until_ns % 1000000000};
	bool has_ended = true;

	if (!sampler.has_thread)
		return true;
	pthread_mutex_lock(&sampler.lock);
	sampler.must_end = true;
	pthread_cond_signal(&sampler.changed);
	while (!sampler.has_ended &&
	       pthread_cond_timedwait(&sampler.changed, &sampler.lock, &until) != ETIMEDOUT)
		;
	has_ended = sampler.has_ended;
	pthread_mutex_unlock(&sampler.lock);
	if (has_ended)
		pthread_join(sampler.thread, NULL);
	else /* readings at the end would not return either */
		nvml.absent = "none: NVML does not return";
	sampler.has_thread = !has_ended;
	return has_ended;
}
