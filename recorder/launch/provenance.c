#include "recorder/launch/provenance.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "recorder/gpu/readings.h"
#include "recorder/shared/clock.h"
#include "recorder/shared/procfs.h"

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

static bool is_plain(const char *arg)
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

/* The last part of a name like --api-key or API_TOKEN tells what its value is. */
static bool names_secret(const char *name, size_t len)
{
	static const char *const words[] = {"password", "passwd", "passphrase", "secret",
	                                    "token",    "key",    "apikey",     "credentials"};
	size_t begin = len;

	while (begin && !strchr("-_.", name[begin - 1]))
		begin--;
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (len - begin == strlen(words[i]) &&
		    !strncasecmp(name + begin, words[i], len - begin))
			return 1;
	return 0;
}

/* Bytes of the argument that may be told; *is_next: the argument after it is a secret. */
static size_t told_of(const char *arg, bool *is_next)
{
	size_t name = strcspn(arg, "="), len = strlen(arg);
	bool is_secret = *is_next && *arg != '-';

	*is_next = *arg == '-' && name == len && names_secret(arg, len);
	if (is_secret)
		return 0;
	return name < len && names_secret(arg, name) ? name + 1 : len;
}

static char *quote_told(char *const *arguments)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);
	bool is_next = 0;

	for (int i = 0; f && arguments[i]; i++) {
		size_t len = told_of(arguments[i], &is_next);
		char *told = NULL;

		if (i)
			fputc(' ', f);
		if (arguments[i][len] && asprintf(&told, "%.*s***", (int)len, arguments[i]) < 0)
			told = NULL;
		put_quoted(f, !arguments[i][len] ? arguments[i] : told ? told : "***");
		free(told);
	}
	if (f && !fclose(f))
		return text;
	free(text);
	return NULL;
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

/* With the first two --merge puts traces of one machine on one clock. */
static void add_clock(struct ws_drain *d, const struct ws_seg_header *seg)
{
	char boot[32];

	snprintf(boot, sizeof(boot), "%016" PRIx64, seg->boot);
	add_number(d, "clock.base_ns", seg->base_ns);
	if (seg->boot)
		add(d, "clock.boot", boot);
	add(d, "clock.times", "CLOCK_MONOTONIC");
}

/* What other clocks did meanwhile. */
static void add_clock_end(struct ws_drain *d, const struct ws_seg_header *seg)
{
	int64_t raw_ns = ws_clock_ns(CLOCK_MONOTONIC_RAW) - seg->base_raw_ns;
	int64_t slew_ns = ws_clock_ns(CLOCK_MONOTONIC) - seg->base_ns - raw_ns;
	char text[32];

	/* not before a second has passed, and not of another boot */
	if (raw_ns >= 1000000000 && seg->boot == ws_proc_boot()) {
		snprintf(text, sizeof(text), "%.1f", (double)slew_ns * 1e6 / (double)raw_ns);
		add(d, "clock.slew_ppm", text);
	}
	if (seg->realtime_largest_step_ns) {
		add_number(d, "clock.largest_step_ns", seg->realtime_largest_step_ns);
		add_number(d, "clock.realtime_apart_ns",
		           seg->realtime_apart_ns - (seg->base_realtime_ns - seg->base_ns));
	}
	if (atomic_load(&seg->gpu.nclocks))
		add_number(d, "clock.cupti_apart_ns", atomic_load(&seg->gpu.realtime_apart_ns));
}

void ws_provenance_begin(struct ws_drain *d, const struct ws_provenance *p,
                         const struct ws_seg_header *seg)
{
	time_t seconds = (time_t)(seg->base_realtime_ns / 1000000000);
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
		char *arguments = quote_told(p->arguments);

		if (arguments)
			add(d, "program.arguments", arguments);
		free(arguments);
	}
	add_clock(d, seg);
	add_host(d);
	if (!p->no_gpu)
		ws_gpu_readings_add(d, "start", 1);
}

static bool is_small_number(const char *text)
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
	add_clock_end(d, seg);
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
