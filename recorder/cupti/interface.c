/* Loads CUPTI and the driver, subscribes, and reads facts that no record contains. */
#include <dlfcn.h>
#include <stdarg.h>

#include "recorder/cupti/source.h"

/* --- state and errors --- */

struct ws_cupti ws_cupti;
int ws_cupti_has_thread_buffers;
_Atomic int ws_cupti_may_flush;
_Atomic int ws_cupti_is_final;
_Atomic int ws_cupti_is_parents;
_Atomic uint64_t ws_cupti_own_records;

void ws_cupti_keep_error(const char *what, const char *words, int result)
{
	struct ws_seg_gpu *gpu = &ws_collector.seg->gpu;

	snprintf(gpu->last_error, sizeof(gpu->last_error), "%s: %d %s", what, result,
	         words ? words : "");
}

void ws_cupti_count_error(int result, const char *fmt, ...)
{
	const char *words = NULL;
	char function[96];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(function, sizeof(function), fmt, ap);
	va_end(ap);

	ws_lost(WS_DROPPED_activity_error, 1);
	if (ws_cupti.GetResultString(result, &words) != WS_CUPTI_OK)
		words = NULL;
	ws_cupti_keep_error(function, words, result);
}

/* --- loading --- */

#define LOAD_FLAGS                                                                    \
	(RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE) /* never unloaded: CUPTI crashes then \
	                                         */

/* Names by major version. The version of the program's runtime is tried first. */
static const char *const sonames[] = {"libcupti.so.13", "libcupti.so.12"};
#define NSONAMES 2

struct search {
	int first;         /* index of the first name to try */
	bool takes_flawed; /* accept a version with known faults, as there is no other */
	void *lib;
};

/* Whether this is the CUPTI of exactly CUDA 13.0, by its file name before it is loaded. */
static bool is_flawed(const char *path)
{
	static const char flawed[] = "/libcupti.so.2025.3.0";
	char real[PATH_MAX];
	size_t len = realpath(path, real) ? strlen(real) : 0;

	return len >= strlen(flawed) && !strcmp(real + len - strlen(flawed), flawed);
}

/* Both major versions in this folder. */
static void try_folder(struct search *s, const char *folder)
{
	char path[PATH_MAX];

	for (int i = 0; !s->lib && i < NSONAMES; i++) {
		const char *soname = sonames[(s->first + i) % NSONAMES];
		int n = snprintf(path, sizeof(path), "%s/%s", folder, soname);

		if (n > 0 && (size_t)n < sizeof(path) && (s->takes_flawed || !is_flawed(path)))
			s->lib = dlopen(path, LOAD_FLAGS);
	}
}

static void try_sonames(struct search *s, int flags)
{
	for (int i = 0; !s->lib && i < NSONAMES; i++)
		s->lib = dlopen(sonames[(s->first + i) % NSONAMES], flags);
}

static void *find_library(void)
{
	const char *named = secure_getenv("WARPSHEET_CUPTI_PATH");
	struct search s = {0};
	char cudart[PATH_MAX];
	int has_cudart = ws_library_path(WS_CUDART, cudart, sizeof(cudart));

	s.first = has_cudart && strstr(cudart, "libcudart.so.12") != NULL;
	/* a copy that is already loaded: CUPTI fails if a process has two */
	try_sonames(&s, LOAD_FLAGS | RTLD_NOLOAD);
	if (!s.lib && named && *named) {
		s.lib = dlopen(named, LOAD_FLAGS);
		s.takes_flawed = 1;
		try_folder(&s, named);
		return s.lib; /* the user named this one, so try no other */
	}
	for (int i = 0; !s.lib && i < 2; i++) {
		s.takes_flawed = i == 1;
		/* folders near the CUDA runtime, as in toolkits, Linux distributions and Python
		 * packages */
		if (has_cudart) {
			static const char *const folders[] = {"", "/../../cuda_cupti/lib",
			                                      "/../extras/CUPTI/lib64",
			                                      "/../cupti/lib"};
			int dir = (int)(strrchr(cudart, '/') - cudart);
			char path[PATH_MAX];

			for (size_t k = 0; !s.lib && k < sizeof(folders) / sizeof(*folders); k++) {
				int n = snprintf(path, sizeof(path), "%.*s%s", dir, cudart,
				                 folders[k]);

				if (n > 0 && (size_t)n < sizeof(path))
					try_folder(&s, path);
			}
		}
		try_folder(&s, "/usr/local/cuda/lib64");
		try_folder(&s, "/usr/local/cuda/extras/CUPTI/lib64");
	}
	try_sonames(&s, LOAD_FLAGS);
	return s.lib;
}

/* Sets result and text, then the state, which the launcher reads first. */
static int fail(struct ws_seg_gpu *gpu, enum ws_gpu_state state, void *function, const char *lacks)
{
	const char *path = "";
	Dl_info info;

	if (function && dladdr(function, &info) && info.dli_fname)
		path = info.dli_fname;
	snprintf(gpu->text, sizeof(gpu->text), "%s%s%s", path, *lacks ? " lacks " : "", lacks);
	atomic_store(&gpu->state, state);
	return -1;
}

static const char *look_up(void *lib)
{
#define F(name, needed, params)                               \
	*(void **)&ws_cupti.name = dlsym(lib, "cupti" #name); \
	if ((needed) && !ws_cupti.name)                       \
		return "cupti" #name;
	WS_CUPTI_FUNCTION_LIST(F)
#undef F
	return NULL;
}

int ws_cupti_load(struct ws_seg_gpu *gpu)
{
	void *lib = find_library();
	ws_cupti_fn_GetVersion get_version;
	uint32_t version = 0;

	if (!lib)
		return fail(gpu, WS_GPU_CUPTI_MISSING, NULL, "");
	*(void **)&get_version = dlsym(lib, "cuptiGetVersion");
	if (!get_version)
		return fail(gpu, WS_GPU_CUPTI_LACKS, NULL, "cuptiGetVersion");
	gpu->result = get_version(&version);
	if (gpu->result) { /* CUPTI 13.3 does this with a driver that it does not support */
		snprintf(gpu->text, sizeof(gpu->text), "cuptiGetVersion");
		atomic_store(&gpu->state, WS_GPU_CUPTI_FAILED);
		return -1;
	}
	atomic_store(&gpu->cupti_version, version);
	if (version == WS_CUPTI_VERSION_13_0)
		atomic_fetch_or(&gpu->stopped, WS_GPU_STOP_FLAWED);
	if (version < WS_CUPTI_VERSION_12_0)
		return fail(gpu, WS_GPU_CUPTI_TOO_OLD, *(void **)&get_version, "");
	const char *missing = look_up(lib);
	if (missing)
		return fail(gpu, WS_GPU_CUPTI_LACKS, *(void **)&get_version, missing);
	return 0;
}

/* --- scope --- */

/*
 * CUPTI has two interfaces for activities. The older one (up to 13.0) is shared by the whole
 * process: the tool that registers buffers last gets all records. Since 13.3 each subscriber can
 * have its own records ("subscriber scope"). The newer one is used if the library has all of it.
 * Code outside this section does not depend on the choice.
 */
static void *subscriber;
static bool is_scoped;

/* Subscribes with subscriber scope. With a driver that is too old, one of the two calls fails. */
static bool subscribe_scoped(const struct ws_cupti_subscription *s)
{
	struct ws_cupti_subscriber_params params = {.struct_size = sizeof(params),
	                                            .name = "warpsheet",
	                                            .allow_multiple = 1};

	/* all functions of the newer interface are needed; 13.2 has only some */
	if (!(atomic_load(&ws_collector.seg->gpu.cupti_version) >= WS_CUPTI_VERSION_13_3 &&
	      ws_cupti.Subscribe_v2 && ws_cupti.Unsubscribe &&
	      ws_cupti.ActivityRegisterCallbacks_v2 && ws_cupti.ActivitySetAttribute_v2 &&
	      ws_cupti.ActivityEnable_v2 && ws_cupti.ActivityEnableRuntimeApi_v2 &&
	      ws_cupti.ActivityEnableDriverApi_v2 && ws_cupti.ActivityGetNextRecord_v2 &&
	      ws_cupti.GetTimestamp_v2) ||
	    ws_cupti.Subscribe_v2(&subscriber, s->callback, NULL, &params) != WS_CUPTI_OK)
		return 0;
	is_scoped = 1;
	s->set_attributes();
	if (ws_cupti.ActivityRegisterCallbacks_v2(subscriber, s->buffers->request_v2,
	                                          s->buffers->complete_v2) == WS_CUPTI_OK)
		return 1;
	is_scoped = 0;
	ws_cupti.Unsubscribe(subscriber);
	return 0;
}

int ws_cupti_subscribe(struct ws_cupti_subscription *s)
{
	struct ws_cupti_subscriber_params params = {
	        .struct_size = WS_CUPTI_PARAMS_13_0,
	        .name = "warpsheet",
	        .other_name = s->other_tool,
	        .other_size = s->other_size,
	};

	if (subscribe_scoped(s))
		return WS_CUPTI_OK;
	s->function = "cuptiSubscribe";
	int result = ws_cupti.Subscribe_v2
	                     ? ws_cupti.Subscribe_v2(&subscriber, s->callback, NULL, &params)
	                     : ws_cupti.Subscribe(&subscriber, s->callback, NULL);
	if (result != WS_CUPTI_OK)
		return result;
	s->set_attributes();
	s->function = "cuptiActivityRegisterCallbacks";
	return ws_cupti.ActivityRegisterCallbacks(s->buffers->request, s->buffers->complete);
}

int ws_cupti_set(int attribute)
{
	uint8_t yes = 1;
	size_t size = sizeof(yes);

	return is_scoped ? ws_cupti.ActivitySetAttribute_v2(subscriber, attribute, &size, &yes)
	                 : ws_cupti.ActivitySetAttribute(attribute, &size, &yes);
}

int ws_cupti_enable(int kind)
{
	return is_scoped ? ws_cupti.ActivityEnable_v2(subscriber, kind, NULL)
	                 : ws_cupti.ActivityEnable(kind);
}

int ws_cupti_disable(int kind)
{
	if (is_scoped)
		return ws_cupti.ActivityDisable_v2
		               ? ws_cupti.ActivityDisable_v2(subscriber, kind, NULL)
		               : WS_CUPTI_NO_FUNCTION;
	return ws_cupti.ActivityDisable ? ws_cupti.ActivityDisable(kind) : WS_CUPTI_NO_FUNCTION;
}

int ws_cupti_enable_call(uint32_t domain, uint32_t cbid, bool on)
{
	const int runtime = domain == WS_CUPTI_DOMAIN_RUNTIME;
	ws_cupti_fn_ActivityEnableRuntimeApi enable =
	        runtime ? ws_cupti.ActivityEnableRuntimeApi : ws_cupti.ActivityEnableDriverApi;

	if (is_scoped)
		return runtime ? ws_cupti.ActivityEnableRuntimeApi_v2(subscriber, cbid, on)
		               : ws_cupti.ActivityEnableDriverApi_v2(subscriber, cbid, on);
	return enable ? enable(cbid, on) : WS_CUPTI_NO_FUNCTION;
}

int ws_cupti_enable_callback(uint32_t domain, uint32_t cbid)
{
	return ws_cupti.EnableCallback(1, subscriber, domain, cbid);
}

int ws_cupti_next(uint8_t *buffer, size_t valid_size, uint8_t **record)
{
	return is_scoped ? ws_cupti.ActivityGetNextRecord_v2(subscriber, buffer, valid_size, record)
	                 : ws_cupti.ActivityGetNextRecord(buffer, valid_size, record);
}

int ws_cupti_time(uint64_t *now)
{
	if (is_scoped)
		return ws_cupti.GetTimestamp_v2(subscriber, now);
	return ws_cupti.GetTimestamp ? ws_cupti.GetTimestamp(now) : WS_CUPTI_NO_FUNCTION;
}

/* --- sizes of records --- */

void ws_cupti_tell_sizes(void)
{
	struct ws_seg_gpu *gpu = &ws_collector.seg->gpu;
	struct ws_seg_sizes *sizes = &gpu->sizes[ws_collector.image % WS_SEG_IMAGES];
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static _Atomic bool are_told;
	sigset_t before;

	if (WS_LIKELY(atomic_load_explicit(&are_told, memory_order_acquire)))
		return;
	ws_lock(&lock, &before);
	if (!atomic_load(&are_told)) {
		atomic_store(&sizes->image, 0);
		ws_cupti_find_sizes(ws_cupti_next, sizes->of_kind);
		if (sizes->of_kind[WS_CUPTI_KIND_CONCURRENT_KERNEL]) {
			atomic_store_explicit(&sizes->image, ws_collector.image,
			                      memory_order_release);
			atomic_store_explicit(&are_told, 1, memory_order_release);
		}
	}
	ws_unlock(&lock, &before);
}

/* --- facts of the driver --- */

/* Facts that no activity record contains: versions, and limits needed for occupancy. */

/* Names of attributes for the driver and in the trace. minimum: the smallest valid value; smaller
 * ones mean "unknown".
 */
static const struct {
	int attribute;
	const char *name;
	int64_t unit, minimum;
} attributes[] = {
#define A(number, NAME, name, unit, least) {number, #name, unit, least},
        WS_CUDA_ATTRIBUTE_LIST(A)
#undef A
};

/* Defines the version that a function of the library returns. */
static void define_version(const char *key, void *library, const char *function)
{
	int (*get_version)(int *version), version = 0;
	char text[32];

	*(void **)&get_version = dlsym(library, function);
	if (!get_version || get_version(&version) || !version)
		return;
	snprintf(text, sizeof(text), "%d.%d", version / 1000, version % 1000 / 10);
	ws_define_fact(key, text);
}

/* Functions of the driver; NULL: not available, and its facts are left out. */
struct driver {
	int (*get_count)(int *count);
	int (*get_attribute)(int *value, int attribute, int device);
	int (*get_name)(char *name, int size, int device);
	int (*get_uuid)(uint8_t uuid[16], int device);
	int (*get_memory)(size_t *bytes, int device);
};

/* Eight bytes of a UUID as a big-endian number. */
static int64_t half_of(const uint8_t *bytes)
{
	uint64_t half = 0;

	for (int i = 0; i < 8; i++)
		half = half << 8 | bytes[i];
	return (int64_t)half;
}

static void define_devices(void *library)
{
	struct driver driver;
	int count = 0;

	*(void **)&driver.get_count = dlsym(library, "cuDeviceGetCount");
	*(void **)&driver.get_attribute = dlsym(library, "cuDeviceGetAttribute");
	*(void **)&driver.get_name = dlsym(library, "cuDeviceGetName");
	*(void **)&driver.get_uuid = dlsym(library, "cuDeviceGetUuid_v2");
	*(void **)&driver.get_memory = dlsym(library, "cuDeviceTotalMem_v2");
	if (!driver.get_count || !driver.get_attribute || driver.get_count(&count))
		return;
	for (int device = 0; device < count; device++) {
		/* Defines a device with the driver's data, as CUPTI's record of a device may be
		 * missing. */
		uint8_t uuid[16];
		char name[256];
		size_t memory;

		if (driver.get_name && !driver.get_name(name, sizeof(name), device))
			ws_define_device((uint32_t)device, name);
		if (driver.get_uuid && !driver.get_uuid(uuid, device)) {
			ws_define_device_attr((uint32_t)device, "uuid_high", half_of(uuid));
			ws_define_device_attr((uint32_t)device, "uuid_low", half_of(uuid + 8));
		}
		if (driver.get_memory && !driver.get_memory(&memory, device) && memory <= INT64_MAX)
			ws_define_device_attr((uint32_t)device, "global_memory_bytes",
			                      (int64_t)memory);
		for (size_t i = 0; i < sizeof(attributes) / sizeof(*attributes); i++) {
			int value = -1;

			if (!driver.get_attribute(&value, attributes[i].attribute, device) &&
			    value >= attributes[i].minimum)
				ws_define_device_attr((uint32_t)device, attributes[i].name,
				                      value * attributes[i].unit);
		}
	}
}

void ws_cupti_define_facts(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD), *runtime = NULL;
	char path[PATH_MAX];

	if (ws_library_path(WS_CUDART, path, sizeof(path)))
		runtime = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
	if (runtime) {
		define_version("cuda.runtime_version", runtime, "cudaRuntimeGetVersion");
		dlclose(runtime);
	}
	if (!driver)
		return;
	define_version("cuda.driver_version", driver, "cuDriverGetVersion");
	define_devices(driver);
	dlclose(driver);
}

/* Hardware events are read by GPUs of this compute capability and later: Blackwell. */
#define HW_TRACE_MAJOR                10
#define CUDA_COMPUTE_CAPABILITY_MAJOR 75

/* True if all GPUs can. */
static bool can_trace_by_hardware(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
	int (*get_count)(int *count), (*get_attribute)(int *value, int attribute, int device);
	int count = 0, major;
	bool can = library != NULL;

	if (!library)
		return false;
	*(void **)&get_count = dlsym(library, "cuDeviceGetCount");
	*(void **)&get_attribute = dlsym(library, "cuDeviceGetAttribute");
	can = get_count && get_attribute && !get_count(&count) && count > 0;
	for (int device = 0; device < count && can; device++)
		can = !get_attribute(&major, CUDA_COMPUTE_CAPABILITY_MAJOR, device) &&
		      major >= HW_TRACE_MAJOR;
	dlclose(library);
	return can;
}

void ws_cupti_trace_by_hardware(void)
{
	const bool is_new =
	        atomic_load(&ws_collector.seg->gpu.cupti_version) >= WS_CUPTI_VERSION_13_4_1;
	const char *words = NULL;
	char fact[96] = "on";
	int result;

	if (!is_new || !ws_cupti.ActivityEnableHWTrace) {
		snprintf(fact, sizeof(fact), "off: CUPTI is older than 13.4 Update 1");
	} else if (!can_trace_by_hardware()) {
		snprintf(fact, sizeof(fact), "off: a GPU is older than Blackwell");
	} else if ((result = ws_cupti.ActivityEnableHWTrace(1)) != WS_CUPTI_OK) {
		if (ws_cupti.GetResultString(result, &words) != WS_CUPTI_OK || !words)
			words = "unknown error";
		snprintf(fact, sizeof(fact), "off: CUPTI refused: %s", words);
	}
	ws_define_fact("cupti.hw_trace", fact);
}

/* --- CUPTI's numbers of contexts and streams --- */

static bool may_be_asked(void)
{
	return atomic_load(&ws_collector.seg->gpu.state) == WS_GPU_ON &&
	       !atomic_load(&ws_cupti_is_final);
}

int64_t ws_cupti_context_number(uint64_t handle)
{
	uint32_t number;

	if (!may_be_asked() || !ws_cupti.GetContextId ||
	    ws_cupti.GetContextId((void *)(uintptr_t)handle, &number) != WS_CUPTI_OK)
		return -1;
	return number;
}

int64_t ws_cupti_stream_number(uint64_t handle)
{
	uint32_t number;

	if (!may_be_asked() || !ws_cupti.GetStreamIdEx ||
	    ws_cupti.GetStreamIdEx(NULL, (void *)(uintptr_t)handle, 0, &number) != WS_CUPTI_OK)
		return -1;
	return number;
}

/* --- launches --- */

/* Counts launches after another profiler took over CUPTI's records. */

#define LAUNCHES 64

/* Driver calls that launch, to be counted while there are no records of them. */
static uint32_t launch_calls[LAUNCHES];
static size_t nlaunch_calls;
static _Atomic int counts_launches;

void ws_cupti_find_launches(void)
{
	const char *name = NULL;

	for (uint32_t cbid = 1;
	     nlaunch_calls < LAUNCHES &&
	     ws_cupti.GetCallbackName(WS_CUPTI_DOMAIN_DRIVER, cbid, &name) == WS_CUPTI_OK;
	     cbid++)
		if (name && ws_cupti_is_launch(name))
			launch_calls[nlaunch_calls++] = cbid;
}

bool ws_cupti_is_untold_launch(uint32_t domain, uint32_t cbid)
{
	if (!atomic_load_explicit(&counts_launches, memory_order_relaxed) ||
	    domain != WS_CUPTI_DOMAIN_DRIVER)
		return false;
	for (size_t i = 0; i < nlaunch_calls; i++)
		if (launch_calls[i] == cbid)
			return true;
	return false;
}

/*
 * Another profiler gets the records now. We can still count launches, as each subscriber has its
 * own callbacks.
 */
void ws_cupti_taken(void)
{
	atomic_fetch_or(&ws_collector.seg->gpu.stopped, WS_GPU_STOP_TAKEN);
	atomic_store(&counts_launches, 1);
	for (size_t i = 0; i < nlaunch_calls; i++)
		ws_cupti_enable_callback(WS_CUPTI_DOMAIN_DRIVER, launch_calls[i]);
}
