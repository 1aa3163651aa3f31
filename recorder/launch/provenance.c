#include <ctype.h>
#include <sys/utsname.h>

#include "recorder/launch/launch.h"

#define MASK "***"

#define LETTERS_DIGITS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
#define NAME_CHARS     LETTERS_DIGITS "-_."
#define BLANKS         " \t\r\n"
#define QUOTES         "\"'`"

/* A value and the text around it, in an argument. */
struct span {
	const char *begin, *end;
};

static bool is_one_of(char c, const char *set)
{
	return c && strchr(set, c);
}

/* --- names --- */

static bool is_word(const char *text, size_t len, const char *const *words)
{
	for (; *words; words++)
		if (len == strlen(*words) && !strncasecmp(text, *words, len))
			return 1;
	return 0;
}

/*
 * Whether a name is that of a secret, decided by its last part: --api-key, API_TOKEN, accessToken,
 * db.password, X-Auth-Token. Words with other meanings, like "pass" in "forward-pass", count only
 * as the whole name.
 */
static bool names_secret(const char *name, size_t len)
{
	static const char *const last_parts[] = {"password", "passwd",        "passphrase",
	                                         "passcode", "pwd",           "secret",
	                                         "token",    "key",           "apikey",
	                                         "auth",     "authorization", "cookie",
	                                         "cookies",  "credential",    "credentials",
	                                         "bearer",   "signature",     NULL};
	static const char *const whole_names[] = {"pass", "pw", "pat", "sig", NULL};
	size_t begin = len;

	while (begin && !is_one_of(name[begin - 1], "-_.") &&
	       !(begin < len && isupper((unsigned char)name[begin]) &&
	         islower((unsigned char)name[begin - 1])))
		begin--;
	if (is_word(name + begin, len - begin, last_parts))
		return 1;
	for (begin = 0; begin < len && name[begin] == '-'; begin++)
		;
	return is_word(name + begin, len - begin, whole_names);
}

/* --- tokens with known prefixes --- */

/* Length of a token at text; 0: none. *shown: length of its prefix, which is not secret. */
static size_t token_at(const char *text, size_t *shown)
{
	static const struct {
		const char *prefix, *other_chars; /* besides letters and digits */
		size_t min_chars;                 /* after the prefix */
	} tokens[] = {
	        {"sk-proj-", "-_", 20}, /* OpenAI, Anthropic and similar */
	        {"sk-ant-", "-_", 20},     {"sk-svcacct-", "-_", 20},
	        {"sk-or-", "-_", 20},      {"sk-", "", 16},
	        {"ghp_", "", 16}, /* GitHub, GitLab */
	        {"gho_", "", 16},          {"ghu_", "", 16},
	        {"ghs_", "", 16},          {"ghr_", "", 16},
	        {"github_pat_", "_", 16},  {"glpat-", "-_", 16},
	        {"hf_", "", 16}, /* Hugging Face, NVIDIA, Groq, Replicate */
	        {"nvapi-", "-_", 16},      {"gsk_", "", 16},
	        {"r8_", "", 16},           {"AKIA", "", 16}, /* AWS, Google, Slack */
	        {"ASIA", "", 16},          {"AIza", "-_", 30},
	        {"xoxb-", "-", 10},        {"xoxp-", "-", 10},
	        {"xoxa-", "-", 10},        {"xoxr-", "-", 10},
	        {"xoxs-", "-", 10},        {"hooks.slack.com/services/", "/", 10},
	        {"npm_", "", 20},                               /* registries */
	        {"pypi-", "-_", 40},       {"eyJ", "-_.=", 40}, /* a JSON web token */
	        {"Bearer ", "-_.=~+/", 8},
	};

	for (size_t i = 0; i < sizeof(tokens) / sizeof(*tokens); i++) {
		char chars[sizeof(LETTERS_DIGITS) + 8];
		size_t len = strlen(tokens[i].prefix), n;

		if (strncmp(text, tokens[i].prefix, len) != 0)
			continue;
		snprintf(chars, sizeof(chars), LETTERS_DIGITS "%s", tokens[i].other_chars);
		n = strspn(text + len, chars);
		if (n < tokens[i].min_chars || (*text == 'e' && !memchr(text, '.', len + n)))
			continue;
		*shown = len;
		return len + n;
	}
	return 0;
}

/* --- values --- */

/*
 * The value after the name of a secret: NAME=VALUE, "NAME": "VALUE", NAME: VALUE, or in a shell
 * command --NAME VALUE. at: the separator.
 */
static struct span value_behind(const struct ws_secrets *s, const char *argument, const char *at)
{
	/* values of these headers may contain blanks, commas and semicolons */
	static const char *const headers[] = {"authorization", "proxy-authorization", "cookie",
	                                      "set-cookie", NULL};
	const char *end = at, *name, *value = at + 1;
	const char *stop = "&;,)]}" BLANKS QUOTES;
	char close[3] = "";
	bool is_whole, is_option, is_command;

	if (end > argument && is_one_of(end[-1], QUOTES))
		end--;
	if (end > argument && end < at && end[-1] == '\\')
		end--;
	for (name = end; name > argument && is_one_of(name[-1], NAME_CHARS); name--)
		;
	if (!names_secret(name, (size_t)(end - name)))
		return (struct span){0};
	is_option = *name == '-' && (name == argument || is_one_of(name[-1], BLANKS QUOTES));
	/* the value is the rest of the argument */
	is_command = s->before && *s->before == '-' && s->before[strlen(s->before) - 1] == 'c' &&
	             strlen(s->before) <= 4; /* sh -c, bash -lc */
	is_whole = name == argument && !is_one_of(*at, BLANKS) && !is_command;
	if (*at != '=')
		value += strspn(value, BLANKS);
	if (is_one_of(*at, BLANKS) && (!is_option || *value == '-'))
		return (struct span){0};
	/* two paths with a colon are a mount; text with a dollar sign is the name of a variable */
	if ((*at == ':' && (*value == '/' || (name > argument && name[-1] == '/'))) ||
	    is_one_of(*value, "$" BLANKS))
		return (struct span){0};
	if (value[0] == '\\' && is_one_of(value[1], QUOTES))
		snprintf(close, sizeof(close), "\\%c", value[1]);
	else if (is_one_of(value[0], QUOTES))
		snprintf(close, sizeof(close), "%c", value[0]);
	value += strlen(close);
	if (*close && strstr(value, close))
		end = strstr(value, close);
	else if (is_whole)
		end = value + strlen(value);
	else if (*at == ':' &&
	         value > at + 1) /* a header or YAML, whose value may be several words */
		end = value + strcspn(value, is_word(name, (size_t)(at - name), headers)
		                                     ? "}\n" QUOTES
		                                     : "&;,)]}\n" QUOTES);
	else
		end = value + strcspn(value, stop);
	return (struct span){value, end};
}

/* --- options of single programs, with names that are not known as secrets --- */

static struct span value_of_client(const struct ws_secrets *s, const char *argument)
{
	static const struct {
		const char *client, *option;
		bool is_attached; /* the value is in the option's argument, else the next one */
		bool has_user;    /* USER:PASSWORD */
	} options[] = {
	        {"curl", "-u", 0, 1},       {"curl", "--user", 0, 1},
	        {"curl", "-U", 0, 1},       {"curl", "--proxy-user", 0, 1},
	        {"curl", "-b", 0, 0},       {"sshpass", "-p", 0, 0},
	        {"sshpass", "-p", 1, 0},    {"mysql", "-p", 1, 0},
	        {"mysqldump", "-p", 1, 0},  {"mysqladmin", "-p", 1, 0},
	        {"mariadb", "-p", 1, 0},    {"mongosh", "-p", 0, 0},
	        {"mongodump", "-p", 0, 0},  {"redis-cli", "-a", 0, 0},
	        {"ldapsearch", "-w", 0, 0},
	};
	const char *client = ws_path_name(s->program ? s->program : "");

	for (size_t i = 0; i < sizeof(options) / sizeof(*options); i++) {
		const char *option = options[i].option, *value = argument;

		if (strcmp(client, options[i].client) != 0)
			continue;
		if (options[i].is_attached && !strncmp(argument, option, strlen(option)) &&
		    argument[strlen(option)])
			return (struct span){argument + strlen(option),
			                     argument + strlen(argument)};
		if (options[i].is_attached || !s->before || strcmp(s->before, option) != 0)
			continue;
		if (options[i].has_user)
			value = strchr(argument, ':') ? strchr(argument, ':') + 1 : "";
		if (*value)
			return (struct span){value, value + strlen(value)};
	}
	return (struct span){0};
}

/* --- arguments --- */

/* The secret that begins at p or after the separator at p; begin NULL: none. */
static struct span secret_at(const struct ws_secrets *s, const char *argument, const char *p)
{
	static const char private_key[] = "PRIVATE KEY-----";
	size_t shown, len;

	if (p == argument || !is_one_of(p[-1], LETTERS_DIGITS "_")) {
		len = token_at(p, &shown);
		if (len)
			return (struct span){p + shown, p + len};
	}
	if (!strncmp(p, private_key, strlen(private_key)))
		return (struct span){p + strlen(private_key), p + strlen(p)};
	if (!strncmp(p, "://", 3)) {
		/* The password of https://user:PASSWORD@host; text: after "://". */
		const char *text = p + 3;
		const char *end = text + strcspn(text, "/?#" BLANKS QUOTES);
		const char *colon = memchr(text, ':', (size_t)(end - text)), *at = end;

		while (at > text && *at != '@')
			at--;
		if (!colon || at <= colon + 1)
			return (struct span){0};
		return (struct span){colon + 1, at};
	}
	return is_one_of(*p, "=:" BLANKS) ? value_behind(s, argument, p) : (struct span){0};
}

char *ws_secrets_mask(struct ws_secrets *s, const char *argument)
{
	struct span secret = {0};
	char *text = NULL;
	bool is_masked = 0;
	size_t size;
	FILE *f = ws_xopened(open_memstream(&text, &size));

	/* The whole argument, if its option is that of a secret. */
	if (s->before && *s->before == '-' && !strchr(s->before, '=') && *argument != '-' &&
	    names_secret(s->before, strlen(s->before)))
		secret = (struct span){argument, argument + strlen(argument)};
	else
		secret = value_of_client(s, argument);
	for (const char *p = argument; *p; secret = (struct span){0}) {
		if (!secret.begin)
			secret = secret_at(s, argument, p);
		if (secret.begin < secret.end) {
			fwrite(p, 1, (size_t)(secret.begin - p), f);
			fputs(MASK, f);
			is_masked = 1;
			p = secret.end;
		} else {
			fputc(*p++, f);
		}
	}
	if (ferror(f) | fclose(f))
		ws_out_of_memory(0);
	s->masked += is_masked;
	s->before = argument;
	return text;
}

/* --- provenance --- */

char *ws_quote(char *const *arguments)
{
	char *text;
	size_t size;
	FILE *f = ws_xmemstream(&text, &size);

	for (int i = 0; arguments[i]; i++) {
		const char *arg = arguments[i];

		if (i)
			fputc(' ', f);
		if (*arg && !arg[strspn(arg, LETTERS_DIGITS "-_./=:,+@%")]) {
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

unsigned ws_provenance_begin(struct ws_drain *d, const struct ws_record_opts *opts,
                             const char *program, char *const *arguments,
                             const struct ws_seg_header *seg)
{
	const uint32_t quantum_ns = seg->capture.cpu_time_quantum_ns;
	struct ws_secrets secrets = {.program = program};
	time_t seconds = (time_t)(seg->base_realtime_ns / 1000000000);
	char utc[32] = "";
	struct tm tm;
	struct utsname u;
	char line[512];

	if (gmtime_r(&seconds, &tm))
		strftime(utc, sizeof(utc), "%Y-%m-%dT%H:%M:%SZ", &tm);
	ws_drain_add_meta(d, "tool.name", "warpsheet-record");
	ws_drain_add_meta(d, "tool.version", WS_VERSION);
	ws_drain_add_meta(d, "record.start_utc", "%s", utc);
	if (opts->options_text)
		ws_drain_add_meta(d, "record.options", "%s", opts->options_text);
	if (quantum_ns)
		ws_drain_add_meta(d, "record.cpu_time_quantum_ns", "%u", quantum_ns);
	if (program)
		ws_drain_add_meta(d, "program.path", "%s", program);
	if (arguments) { /* without the secrets in them */
		size_t n = 0;
		char **masked, *text;

		while (arguments[n])
			n++;
		masked = ws_xarray(n + 1, sizeof(*masked));
		for (size_t i = 0; i < n; i++)
			masked[i] = ws_secrets_mask(&secrets, arguments[i]);
		text = ws_quote(masked);
		ws_drain_add_meta(d, "program.arguments", "%s", text);
		free(text);
		for (size_t i = 0; i < n; i++)
			free(masked[i]);
		free(masked);
	}
	for (size_t i = 0; i < opts->facts.n; i++) {
		const char *fact = opts->facts.text[i], *equals = strchr(fact, '=');
		char key[WS_FACT_KEY_MAX];

		snprintf(key, sizeof(key), "workload.%.*s", (int)(equals - fact), fact);
		ws_drain_add_meta(d, key, "%s", equals + 1);
	}
	ws_drain_add_meta(d, "clock.base_ns", "%ld", seg->base_ns);
	if (seg->boot)
		ws_drain_add_meta(d, "clock.boot", "%016" PRIx64, seg->boot);
	ws_drain_add_meta(d, "clock.times", "CLOCK_MONOTONIC");
	if (!uname(&u)) {
		ws_drain_add_meta(d, "host.kernel", "%s %s", u.sysname, u.release);
		ws_drain_add_meta(d, "host.machine", "%s", u.machine);
	}
	FILE *f = ws_xopened(fopen("/proc/cpuinfo", "re"));
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
	if (!opts->capture.no_cupti)
		ws_gpu_readings_add(d, "start", 1);
	return secrets.masked;
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
		const size_t digits = value ? strspn(value, "0123456789") : 0;

		if (!digits || digits > 9 || value[digits] || !strcmp(done, list[i].key))
			continue;
		ws_drain_add_meta(d, list[i].key, "%s", value);
		done = list[i].key;
	}
}

void ws_provenance_end(struct ws_drain *d, const struct ws_seg_header *seg, int salvaged)
{
	if (!seg->capture.no_cupti)
		ws_gpu_readings_add(d, "end", 0);
	/* Adds the readings of the other clocks. */
	struct ws_drain_real_time real = ws_drain_real_time(d);
	int64_t raw_ns = ws_clock_ns(CLOCK_MONOTONIC_RAW) - seg->base_raw_ns;
	int64_t slew_ns = ws_clock_ns(CLOCK_MONOTONIC) - seg->base_ns - raw_ns;
	/* only after a second, and only in the same boot */
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
	if (*ws_calibrate_words(atomic_load(&seg->control.calibrate)))
		ws_drain_add_meta(d, "record.not_calibrated", "%s",
		                  ws_calibrate_words(atomic_load(&seg->control.calibrate)));
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
