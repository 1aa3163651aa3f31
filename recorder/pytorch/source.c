/*
 * The line of the program that called an operation: `file:line function` of the innermost Python
 * frame outside PyTorch's own files. docs/dev/pytorch.md explains when it is read.
 */
#include <dlfcn.h>

#include "recorder/collect/collector.h"
#include "recorder/pytorch/pytorch.h"

/* --- the interpreter --- */

/*
 * The interpreter's public functions. All but the first three need its lock. Objects that a
 * function returns are ours to release, except those of frame, sys_object, dict_item and list_item.
 */
struct interpreter {
	void *(*thread_state)(void); /* of this thread; NULL: it has never run Python */
	int (*lock)(void);
	void (*unlock)(int before);
	void *(*frame)(void);
	void *(*frame_code)(void *frame);
	void *(*frame_back)(void *frame);
	int (*frame_line)(void *frame);
	void *(*attribute)(void *object, const char *name);
	const char *(*text)(void *string);
	void *(*error)(void);
	void (*clear_error)(void);
	void (*keep)(void *object);
	void (*release)(void *object);
	void *(*sys_object)(const char *name);
	void *(*dict_item)(void *dict, const char *key);
	long (*list_size)(void *list);
	void *(*list_item)(void *list, long i);
	/* for the proof */
	void *(*new_code)(const char *file, const char *function, int line);
	void *(*new_frame)(void *state, void *code, void *globals, void *locals);
	void *(*new_dict)(void);
	/* NULL in versions without them */
	int (*stop_collecting)(void), (*collect_again)(void);
	int (*is_ending)(void);
};

static struct interpreter python;

/* The interpreter's state and its files. Set with its lock held. */
static struct {
	_Atomic int proof; /* 0: not tried; 1: it holds; -1: it does not */
	char torch[PATH_MAX],
	        library[PATH_MAX]; /* folders of PyTorch and of Python's own modules */
	char working[PATH_MAX];
} known;

static bool find_all(void)
{
	const struct {
		const char *name;
		void *to;
		bool is_optional;
	} functions[] = {
	        {"PyGILState_GetThisThreadState", &python.thread_state, 0},
	        {"PyGILState_Ensure", &python.lock, 0},
	        {"PyGILState_Release", &python.unlock, 0},
	        {"PyEval_GetFrame", &python.frame, 0},
	        {"PyFrame_GetCode", &python.frame_code, 0},
	        {"PyFrame_GetBack", &python.frame_back, 0},
	        {"PyFrame_GetLineNumber", &python.frame_line, 0},
	        {"PyObject_GetAttrString", &python.attribute, 0},
	        {"PyUnicode_AsUTF8", &python.text, 0},
	        {"PyErr_Occurred", &python.error, 0},
	        {"PyErr_Clear", &python.clear_error, 0},
	        {"Py_IncRef", &python.keep, 0},
	        {"Py_DecRef", &python.release, 0},
	        {"PySys_GetObject", &python.sys_object, 0},
	        {"PyDict_GetItemString", &python.dict_item, 0},
	        {"PyList_Size", &python.list_size, 0},
	        {"PyList_GetItem", &python.list_item, 0},
	        {"PyCode_NewEmpty", &python.new_code, 0},
	        {"PyFrame_New", &python.new_frame, 0},
	        {"PyDict_New", &python.new_dict, 0},
	        {"PyGC_Disable", &python.stop_collecting, 1},
	        {"PyGC_Enable", &python.collect_again, 1},
	        {"_Py_IsFinalizing", &python.is_ending, 1},
	        {"Py_IsFinalizing", &python.is_ending, 1},
	};

	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++) {
		void *found = dlsym(RTLD_DEFAULT, functions[i].name);

		if (found)
			memcpy(functions[i].to, &found, sizeof(found));
		else if (!functions[i].is_optional)
			return 0;
	}
	return 1;
}

/* Copies a text attribute. False: the object has none, or it does not fit. */
static bool copy_attribute(void *object, const char *name, char *to, size_t size)
{
	void *string = python.attribute(object, name);
	const char *text = string ? python.text(string) : NULL;
	const size_t len = text ? strlen(text) : size;

	if (len < size)
		memcpy(to, text, len + 1);
	if (!text)
		python.clear_error();
	if (string)
		python.release(string);
	return len < size;
}

/* --- proof --- */

/* A frame made by us has the file, function and line that we give it. */
static bool is_frame_read(void)
{
	static const char file[] = "warpsheet proof", function[] = "warpsheet_proof";
	const int line = 4711;
	void *code = python.new_code(file, function, line), *globals = python.new_dict();
	void *frame = code && globals ? python.new_frame(python.thread_state(), code, globals, NULL)
	                              : NULL;
	void *found = frame ? python.frame_code(frame) : NULL;
	char text[64];
	const bool holds =
	        found && found == code && python.frame_line(frame) == line &&
	        copy_attribute(found, "co_filename", text, sizeof(text)) && !strcmp(text, file) &&
	        copy_attribute(found, "co_name", text, sizeof(text)) && !strcmp(text, function);
	void *const made[] = {found, frame, globals, code};

	for (size_t i = 0; i < sizeof(made) / sizeof(*made); i++)
		if (made[i])
			python.release(made[i]);
	python.clear_error();
	return holds;
}

/* The folder of a module that was imported, with a slash at its end; else empty. */
static void folder_of(const char *module, char folder[PATH_MAX])
{
	void *modules = python.sys_object("modules");
	void *object = modules ? python.dict_item(modules, module) : NULL;

	if (!object || !copy_attribute(object, "__file__", folder, PATH_MAX))
		folder[0] = 0;
	char *slash = strrchr(folder, '/');
	slash = slash ? slash + 1 : folder;
	*slash = 0;
}

/* Called with the lock: once, and again until PyTorch is imported. */
static bool is_proved(void)
{
	const int before = atomic_load_explicit(&known.proof, memory_order_acquire);

	if (before)
		return before > 0;
	folder_of("torch", known.torch);
	folder_of("os", known.library);
	if (!known.torch[0])
		return 0;
	if (!getcwd(known.working, sizeof(known.working) - 1))
		known.working[0] = 0;
	else if (known.working[1])
		memcpy(known.working + strlen(known.working), "/", 2);
	atomic_store_explicit(&known.proof, is_frame_read() ? 1 : -1, memory_order_release);
	ws_define_fact("pytorch.source", known.proof > 0 ? "lines" : "none; frames not proved");
	return known.proof > 0;
}

/* --- files --- */

static bool begins(const char *text, const char *with)
{
	return *with && !strncmp(text, with, strlen(with));
}

/* The part of a path within the folder of installed packages; NULL: it is elsewhere. */
static const char *in_packages(const char *path)
{
	static const char *const folders[] = {"/site-packages/", "/dist-packages/"};

	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
		const char *found = strstr(path, folders[i]);

		if (found)
			return found + strlen(folders[i]);
	}
	return NULL;
}

/* Is it a file of PyTorch, of Python's own library, or code that one of them generated? */
static bool is_foreign(const char *file)
{
	const char *end = strrchr(file, '/'), *cache = getenv("TORCHINDUCTOR_CACHE_DIR");

	return begins(file, known.torch) || (begins(file, known.library) && !in_packages(file)) ||
	       begins(file, "<frozen ") || begins(file, "<eval_with_key>") ||
	       strstr(file, "/torchinductor_") || (cache && begins(file, cache)) ||
	       (end && !strcmp(end, "/sitecustomize.py"));
}

/*
 * The part of a path that is recorded: from the folder of packages on, within the working
 * directory, or within a folder of sys.path; else the file's name. So no folder of the user that
 * is not part of the program is in a trace.
 */
static const char *shown(const char *file)
{
	const char *found = in_packages(file), *name = strrchr(file, '/');
	size_t longest = 0;

	if (found || !name || *file != '/')
		return found ? found : file;
	if (begins(file, known.working))
		return file + strlen(known.working);
	void *folders = python.sys_object("path");
	for (long i = 0; folders && i < python.list_size(folders); i++) {
		void *item = python.list_item(folders, i);
		const char *folder = item ? python.text(item) : NULL;
		const size_t len = folder ? strlen(folder) : 0;

		if (len > longest && !strncmp(file, folder, len) && file[len] == '/')
			longest = len;
	}
	python.clear_error();
	return longest ? file + longest + 1 : name + 1;
}

/* --- reading --- */

/*
 * Code of foreign files that was seen. Modules of PyTorch are many frames deep, and their path is
 * compared once. Each has a reference of ours, so that no other code gets its address; the number
 * is limited, as generated code would otherwise never end.
 */
#define FOREIGN_LOG  12
#define FOREIGN_NEAR 8 /* places where one is looked for */

static _Atomic(void *) foreign_code[1u << FOREIGN_LOG];

/* Where this code is, or where it may be added; NULL: there is no place near its hash. */
static _Atomic(void *) *place_of_code(const void *code)
{
	const uint64_t hash = (uint64_t)(uintptr_t)code * UINT64_C(0x9E3779B97F4A7C15);

	for (uint32_t i = 0; i < FOREIGN_NEAR; i++) {
		_Atomic(void *) *place = &foreign_code[((hash >> (64 - FOREIGN_LOG)) + i) &
		                                       ((1u << FOREIGN_LOG) - 1)];
		const void *found = atomic_load_explicit(place, memory_order_relaxed);

		if (!found || found == code)
			return place;
	}
	return NULL;
}

#define MAX_FRAMES 1000
#define MAX_LINE   (PATH_MAX + 320)

/* Writes `file:line function` of a frame. False: its file is not the program's. */
static bool describe(void *frame, char line[MAX_LINE])
{
	void *code = python.frame_code(frame), *none = NULL;
	_Atomic(void *) *place = code ? place_of_code(code) : NULL;
	const bool is_known_foreign =
	        place && atomic_load_explicit(place, memory_order_relaxed) == code;
	char file[PATH_MAX], function[256] = "?";
	const bool has_file = code && !is_known_foreign &&
	                      copy_attribute(code, "co_filename", file, sizeof(file));
	const bool is_of_program = has_file && !is_foreign(file);

	if (has_file && !is_of_program && place) {
		python.keep(code);
		if (!atomic_compare_exchange_strong(place, &none, code))
			python.release(code); /* another thread has used the place */
	}
	if (is_of_program) {
		(void)copy_attribute(code, "co_name", function, sizeof(function));
		snprintf(line, MAX_LINE, "%s:%d %s", shown(file), python.frame_line(frame),
		         function);
	}
	if (code)
		python.release(code);
	return is_of_program;
}

/* Of this thread's frames. Called with the lock. */
static bool find_line(char line[MAX_LINE])
{
	void *frame = python.frame();
	bool is_found = 0;

	if (frame)
		python.keep(frame);
	for (int i = 0; frame && !is_found && i < MAX_FRAMES; i++) {
		void *back = NULL;

		is_found = describe(frame, line);
		if (!is_found)
			back = python.frame_back(frame);
		python.release(frame);
		frame = back;
	}
	if (frame)
		python.release(frame);
	return is_found;
}

/*
 * The line at this moment, as id of a string; 0: unknown. Takes the interpreter's lock, which
 * PyTorch itself releases during an operation and takes within operations. Frames are objects of
 * Python: the collector of garbage, which may run code of the program, is stopped meanwhile.
 */
static uint32_t read_line(void)
{
	char line[MAX_LINE];
	bool is_found = 0;
	int lock, was_collecting;

	if (!python.thread_state || !python.thread_state() ||
	    (python.is_ending && python.is_ending()))
		return 0;
	lock = python.lock();
	if (!python.error()) {
		was_collecting = python.stop_collecting ? python.stop_collecting() : 0;
		is_found = is_proved() && find_line(line);
		if (was_collecting)
			python.collect_again();
	}
	python.unlock(lock);
	if (!is_found)
		return 0;
	uint32_t id = ws_define_string((struct ws_event_text){.ptr = line});
	return id == WS_DEF_NONE ? 0 : id;
}

/* --- when it is read --- */

/* The first four calls at a place, then those of a power of two, then each 256th. */
static bool is_due(uint16_t uses)
{
	return uses < 4 || !(uses & (uses - 1)) || uses % 256 == 0;
}

void ws_source_find(void)
{
	if (ws_collector.seg->capture.no_source)
		ws_define_fact("pytorch.source", "off");
	else if (!find_all()) {
		python.thread_state = NULL;
		ws_define_fact("pytorch.source", "none; Python's functions not found");
	}
}

uint64_t ws_source_hash(const char *text)
{
	uint64_t hash = 0xcbf29ce484222325;

	for (; *text; text++)
		hash = (hash ^ (uint8_t)*text) * 0x100000001b3;
	return hash;
}

void ws_source_pass(struct ws_source *s, uint64_t what)
{
	s->context = s->context << 8 | (what * UINT64_C(0x9E3779B97F4A7C15)) >> 56;
}

uint32_t ws_source_of(struct ws_source *s, uint64_t what)
{
	uint64_t key = (s->context ^ what) * UINT64_C(0x9E3779B97F4A7C15);

	if (!python.thread_state)
		return 0;
	key = (key ^ key >> 29 ^ s->module) * UINT64_C(0x9E3779B97F4A7C15) | 1;
	struct ws_source_call *call = &s->calls[key >> (64 - WS_SOURCE_CALLS_LOG)];
	ws_source_pass(s, what);
	if (call->key != key)
		*call = (struct ws_source_call){.key = key};
	if (call->varies || is_due(call->uses)) {
		uint32_t found = read_line();
		call->varies |= call->uses && found != call->source;
		call->source = found;
	}
	call->uses++;
	return call->source;
}
