#include "recorder/launch/provenance.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "recorder/launch/gpu_readings.h"

static void add(struct ws_drain *d, const char *key, const char *value)
{
	struct ws_row_meta row = {
	        .key = {key, strlen(key)},
	        .value = {value, strlen(value)},
	};

	ws_drain_add(d, WS_KIND_META, &row);
}

static void add_number(struct ws_drain *d, const char *key, long value)
{
	char text[32];

	snprintf(text, sizeof(text), "%ld", value);
	add(d, key, text);
}

/* --- quoting --- */

static int is_plain(const char *arg)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	                            "0123456789-_./=:,+@%";

	return *arg && !arg[strspn(arg, plain)];
}

static void put_quoted(FILE *f, const char *arg)
{
	if (is_plain(arg)) {
		fputs(arg, f);
		return;
	}
	fputc('\'', f);
	for (; *arg; arg++) {
		if (*arg == '\'')
			fputs("'\\''", f);
		else
			fputc(*arg, f);
	}
	fputc('\'', f);
}

char *ws_quote(char *const *arguments)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	for (int i = 0; arguments[i]; i++) {
		if (i)
			fputc(' ', f);
		put_quoted(f, arguments[i]);
	}
	if (fclose(f)) {
		free(text);
		return NULL;
	}
	return text;
}

/* --- rows --- */

static void add_cpu_model(struct ws_drain *d)
{
	FILE *f = fopen("/proc/cpuinfo", "re");
	char line[512];

	while (f && fgets(line, sizeof(line), f)) {
		char *colon = strstr(line, ": ");

		if (strncmp(line, "model name", 10) != 0 || !colon)
			continue;
		line[strcspn(line, "\n")] = 0;
		add(d, "host.cpu", colon + 2);
		break;
	}
	if (f)
		fclose(f);
}

static void add_host(struct ws_drain *d)
{
	struct utsname u;
	char kernel[sizeof(u.sysname) + sizeof(u.release) + 1];

	if (!uname(&u)) {
		snprintf(kernel, sizeof(kernel), "%s %s", u.sysname, u.release);
		add(d, "host.kernel", kernel);
		add(d, "host.machine", u.machine);
	}
	add_cpu_model(d);
	add_number(d, "host.cores", sysconf(_SC_NPROCESSORS_ONLN));
}

void ws_provenance_begin(struct ws_drain *d, const struct ws_provenance *p, int64_t start_ns)
{
	time_t seconds = (time_t)(start_ns / 1000000000);
	char utc[32] = "";
	struct tm tm;

	if (gmtime_r(&seconds, &tm))
		strftime(utc, sizeof(utc), "%Y-%m-%dT%H:%M:%SZ", &tm);
	add(d, "tool.name", "warpsheet-record");
	add(d, "tool.version", WS_VERSION);
	add(d, "record.start_utc", utc);
	if (p->options)
		add(d, "record.options", p->options);
	if (p->cpu_time_quantum_ns)
		add_number(d, "record.cpu_time_quantum_ns", p->cpu_time_quantum_ns);
	if (p->program)
		add(d, "program.path", p->program);
	if (p->arguments) {
		char *arguments = ws_quote(p->arguments);

		if (arguments)
			add(d, "program.arguments", arguments);
		free(arguments);
	}
	add_host(d);
	if (!p->no_gpu)
		ws_gpu_readings_add(d, "start", 1);
}

static int is_small_number(const char *text)
{
	size_t len = strlen(text);

	return len && len <= 9 && strspn(text, "0123456789") == len;
}

void ws_provenance_process(struct ws_drain *d, struct ws_strings env)
{
	static const struct {
		const char *key, *variable;
	} list[] = {
#define X(key, variable) {key, variable},
	        WS_RANK_VARIABLES(X)
#undef X
	};
	const char *done = "";

	for (size_t i = 0; i < sizeof(list) / sizeof(*list); i++) {
		const char *variable = list[i].variable;
		const char *value = ws_strings_value(env, variable, strlen(variable));

		if (!value || !is_small_number(value) || !strcmp(done, list[i].key))
			continue;
		add(d, list[i].key, value);
		done = list[i].key;
	}
}

void ws_provenance_end(struct ws_drain *d, const struct ws_seg_header *seg, int salvaged)
{
	if (!seg->capture.off)
		ws_gpu_readings_add(d, "end", 0);
	add_number(d, "collector.modules", (long)atomic_load(&seg->modules));
	add_number(d, "collector.images", (long)atomic_load(&seg->images));
	if (atomic_load(&seg->control.outside))
		add_number(d, "record.outside_window", (long)atomic_load(&seg->control.outside));
	if (atomic_load(&seg->gpu.flushes)) {
		add_number(d, "cupti.flushes", (long)atomic_load(&seg->gpu.flushes));
		add_number(d, "cupti.flush_ns", (long)atomic_load(&seg->gpu.flush_ns));
		add_number(d, "cupti.flush_longest_ns",
		           (long)atomic_load(&seg->gpu.flush_longest_ns));
	}
	if (salvaged)
		add(d, "record.salvaged", "1");
}
