#include "recorder/launch/provenance.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "formats/base/xalloc.h"
#include "recorder/launch/gpu.h"
#include "recorder/launch/secrets.h"
#include "recorder/shared/system.h"

/* --- quoting --- */

static bool is_plain(const char *arg)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	                            "0123456789-_./=:,+@%";

	return *arg && !arg[strspn(arg, plain)];
}

char *ws_quote(char *const *arguments)
{
	char *text;
	size_t size;
	FILE *f = ws_xmemstream(&text, &size);

	for (int i = 0; arguments[i]; i++) {
		const char *arg;

		if (i)
			fputc(' ', f);
		arg = arguments[i];
		if (is_plain(arg)) {
			fputs(arg, f);
			continue;
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
	ws_xfclose(f);
	return text;
}

/* --- rows --- */

/* Without the secrets in them. */
static void add_arguments(struct ws_drain *d, char *const *arguments, struct ws_secrets *secrets)
{
	size_t n = 0;
	char **masked, *line;

	while (arguments[n])
		n++;
	masked = ws_xarray(n + 1, sizeof(*masked));
	for (size_t i = 0; i < n; i++)
		masked[i] = ws_secrets_mask(secrets, arguments[i]);
	line = ws_quote(masked);
	ws_drain_add_meta(d, "program.arguments", "%s", line);
	free(line);
	for (size_t i = 0; i < n; i++)
		free(masked[i]);
	free(masked);
}

unsigned ws_provenance_begin(struct ws_drain *d, const struct ws_provenance *p,
                             const struct ws_seg_header *seg)
{
	struct ws_secrets secrets = {.program = p->program};
	time_t seconds = (time_t)(seg->base_realtime_ns / 1000000000);
	char utc[32] = "";
	struct tm tm;
	struct utsname u;
	FILE *f;
	char line[512];

	if (gmtime_r(&seconds, &tm))
		strftime(utc, sizeof(utc), "%Y-%m-%dT%H:%M:%SZ", &tm);
	ws_drain_add_meta(d, "tool.name", "warpsheet-record");
	ws_drain_add_meta(d, "tool.version", WS_VERSION);
	ws_drain_add_meta(d, "record.start_utc", "%s", utc);
	if (p->options)
		ws_drain_add_meta(d, "record.options", "%s", p->options);
	if (p->cpu_time_quantum_ns)
		ws_drain_add_meta(d, "record.cpu_time_quantum_ns", "%u", p->cpu_time_quantum_ns);
	if (p->program)
		ws_drain_add_meta(d, "program.path", "%s", p->program);
	if (p->arguments)
		add_arguments(d, p->arguments, &secrets);
	ws_drain_add_meta(d, "clock.base_ns", "%ld", seg->base_ns);
	if (seg->boot)
		ws_drain_add_meta(d, "clock.boot", "%016" PRIx64, seg->boot);
	ws_drain_add_meta(d, "clock.times", "CLOCK_MONOTONIC");
	if (!uname(&u)) {
		ws_drain_add_meta(d, "host.kernel", "%s %s", u.sysname, u.release);
		ws_drain_add_meta(d, "host.machine", "%s", u.machine);
	}
	f = ws_xopened(fopen("/proc/cpuinfo", "re"));
	while (f && fgets(line, sizeof(line), f)) {
		char *colon = strstr(line, ": ");

		if (strncmp(line, "model name", 10) != 0 || !colon)
			continue;
		line[strcspn(line, "\n")] = 0;
		ws_drain_add_meta(d, "host.cpu", "%s", colon + 2);
		break;
	}
	if (f)
		fclose(f);
	ws_drain_add_meta(d, "host.cores", "%ld", sysconf(_SC_NPROCESSORS_ONLN));
	if (!p->no_gpu)
		ws_gpu_readings_add(d, "start", 1);
	return secrets.masked;
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
		ws_drain_add_meta(d, list[i].key, "%s", value);
		done = list[i].key;
	}
}

void ws_provenance_end(struct ws_drain *d, const struct ws_seg_header *seg, int salvaged)
{
	struct ws_drain_real_time real;
	int64_t raw_ns;
	int64_t slew_ns;

	if (!seg->capture.no_cupti)
		ws_gpu_readings_add(d, "end", 0);
	/* What other clocks did meanwhile. */
	real = ws_drain_real_time(d);
	raw_ns = ws_clock_ns(CLOCK_MONOTONIC_RAW) - seg->base_raw_ns;
	slew_ns = ws_clock_ns(CLOCK_MONOTONIC) - seg->base_ns - raw_ns;
	/* not before a second has passed, and not of another boot */
	if (raw_ns >= 1000000000 && seg->boot == ws_proc_boot())
		ws_drain_add_meta(d, "clock.slew_ppm", "%.1f",
		                  (double)slew_ns * 1e6 / (double)raw_ns);
	if (real.largest_step_ns) {
		ws_drain_add_meta(d, "clock.largest_step_ns", "%ld", real.largest_step_ns);
		ws_drain_add_meta(d, "clock.realtime_apart_ns", "%ld",
		                  (int64_t)((uint64_t)real.apart_ns -
		                            ((uint64_t)seg->base_realtime_ns -
		                             (uint64_t)seg->base_ns)));
	}
	if (atomic_load(&seg->gpu.nclocks))
		ws_drain_add_meta(d, "clock.cupti_apart_ns", "%ld",
		                  atomic_load(&seg->gpu.realtime_apart_ns));
	ws_drain_add_meta(d, "collector.modules", "%ld", (long)atomic_load(&seg->modules));
	ws_drain_add_meta(d, "collector.images", "%ld", (long)atomic_load(&seg->images));
	if (atomic_load(&seg->control.noutside))
		ws_drain_add_meta(d, "record.outside_window", "%ld",
		                  (long)atomic_load(&seg->control.noutside));
	if (atomic_load(&seg->gpu.flushes)) {
		ws_drain_add_meta(d, "cupti.flushes", "%ld", (long)atomic_load(&seg->gpu.flushes));
		ws_drain_add_meta(d, "cupti.flush_ns", "%ld",
		                  (long)atomic_load(&seg->gpu.flush_ns));
		ws_drain_add_meta(d, "cupti.flush_longest_ns", "%ld",
		                  (long)atomic_load(&seg->gpu.flush_longest_ns));
	}
	if (salvaged)
		ws_drain_add_meta(d, "record.salvaged", "1");
}
