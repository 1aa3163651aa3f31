#include <ctype.h>

#include "report/base/elementary.h"
#include "report/diff/private.h"

const char *ws_gate_name(enum ws_gate_outcome outcome)
{
	static const char *const names[] = {WS_GATE_LIST(WS_LIST_SECOND)};

	return names[outcome];
}

struct ws_diff_opts ws_gate_diff_opts(void)
{
	struct ws_diff_opts opts = WS_DIFF_OPTS_DEFAULT;

	opts.threshold_percent = 0;
	opts.confidence = 1 - WS_GATE_CHANCE;
	opts.name[0] = "baseline";
	opts.name[1] = "candidate";
	return opts;
}

/* --- keys of runs --------------------------------------------------------------------- */

/* Appends text as lower-case letters and digits; other characters become single '-', but not at the
 * ends. */
static void add_slug(char *out, size_t size, const char *prefix, struct ws_bytes text)
{
	const unsigned char *p = text.ptr;
	size_t n = strlen(out);

	if (n && n + 1 < size)
		out[n++] = '-';
	for (; *prefix && n + 1 < size; prefix++)
		out[n++] = *prefix;
	for (size_t i = 0; i < text.len && n + 1 < size; i++) {
		if (isalnum(p[i]))
			out[n++] = (char)tolower(p[i]);
		else if (n && out[n - 1] != '-')
			out[n++] = '-';
	}
	while (n && out[n - 1] == '-')
		n--;
	out[n] = '\0';
}

/* "mlp" of "runs/mlp-r3.wtrace" */
static struct ws_bytes file_stem(const char *path)
{
	struct ws_bytes name = ws_name_of_file(ws_bytes_of(path));
	const char *dash = ws_last_byte(name.ptr, '-', name.len);

	if (dash && dash[1] == 'r' && isdigit((unsigned char)dash[2]) &&
	    dash + 2 + strspn(dash + 2, "0123456789") == (const char *)name.ptr + name.len)
		name.len = (size_t)(dash - (const char *)name.ptr);
	return name;
}

void ws_gate_key_of(const struct ws_model *m, const char *path, const char *workload,
                    struct ws_gate_key *out)
{
	static const struct {
		const char *key, *prefix;
	} facts[] = {
	        {"model", ""},         {"phase", ""},
	        {"dtype", ""},         {"batch", "b"},
	        {"context", "c"},      {"layers", "l"},
	        {"kernel_width", "w"}, {"depth_multiplier", "d"},
	        {"fusion", "fusion-"}, {"optimizer", ""},
	        {"layout", ""},        {"activation", ""},
	};

	*out = (struct ws_gate_key){{0}, {0}};
	for (size_t i = 0; i < sizeof(facts) / sizeof(*facts) && !workload; i++) {
		const struct ws_bytes value = ws_model_fact(m, facts[i].key);

		if (value.len)
			add_slug(out->workload, sizeof(out->workload), facts[i].prefix, value);
	}
	if (!*out->workload)
		add_slug(out->workload, sizeof(out->workload), "",
		         workload ? ws_bytes_of(workload) : file_stem(path));
	add_slug(out->device, sizeof(out->device), "", ws_model_device_name(m));
	if (!*out->workload)
		snprintf(out->workload, sizeof(out->workload), "workload");
	if (!*out->device)
		snprintf(out->device, sizeof(out->device), WS_GATE_NO_DEVICE);
}

/* --- accepted slowdowns ------------------------------------------------------------------- */

bool ws_gate_is_date(const char *text)
{
	static const char form[] = "dddd-dd-dd";
	static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	int year, month, day;

	for (size_t i = 0; i < sizeof(form); i++)
		if (form[i] == 'd' ? !isdigit((unsigned char)text[i]) : text[i] != form[i])
			return false;
	if (sscanf(text, "%d-%d-%d", &year, &month, &day) != 3 || month < 1 || month > 12)
		return false;
	bool is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
	return day >= 1 && day <= days[month - 1] + (month == 2 && is_leap);
}

/* Reads the next word of a line into size bytes. Empty: there is none. */
static enum ws_status take_word(const char **at, char *out, size_t size, struct ws_err *err)
{
	const char *word = *at + strspn(*at, " \t");
	const size_t len = strcspn(word, " \t");

	*at = word + len;
	*out = '\0';
	WS_FAIL_IF(len >= size, err, USAGE, "'%.20s…' is longer than %zu characters", word,
	           size - 1);
	memcpy(out, word, len);
	out[len] = '\0';
	return WS_OK;
}

enum ws_status ws_gate_accepted_read(const char *line, struct ws_gate_accepted *out,
                                     struct ws_err *err)
{
	char percent[32];

	*out = (struct ws_gate_accepted){.percent = NAN};
	WS_FORWARD(take_word(&line, out->last_day, sizeof(out->last_day), err));
	WS_FORWARD(take_word(&line, out->workload, sizeof(out->workload), err));
	WS_FORWARD(take_word(&line, out->device, sizeof(out->device), err));
	WS_FORWARD(take_word(&line, percent, sizeof(percent), err));
	WS_FAIL_IF(!*percent, err, USAGE, "write UNTIL WORKLOAD DEVICE PERCENT REASON");
	WS_FAIL_IF(!ws_gate_is_date(out->last_day), err, USAGE, "'%s' is no date YYYY-MM-DD",
	           out->last_day);

	/* "12", "1.5" or "2.25%" */
	const size_t digits = strspn(percent, "0123456789");
	const char *end = percent + digits;

	if (*end == '.') {
		const size_t more = strspn(end + 1, "0123456789");

		end += more ? 1 + more : 0;
	}
	out->percent = strtod(percent, NULL);
	WS_FAIL_IF(!digits || (*end && strcmp(end, "%") != 0), err, USAGE,
	           "'%s' is no percentage in digits, as 2.5", percent);
	line += strspn(line, " \t");
	WS_FAIL_IF(!*line, err, USAGE, "the reason is missing");
	snprintf(out->reason, sizeof(out->reason), "%s", line);
	ws_defuse(out->reason);
	return WS_OK;
}

/* Is c in the set that begins after '[', as in [a-z] or [!0-9]? *end: position after ']'; NULL: no
 * end. */
static bool is_of_set(const char *set, char c, const char **end)
{
	const bool is_other = *set == '!' || *set == '^';
	bool is_in = false;
	const char *p = set + is_other;

	do {
		const char last = p[1] == '-' && p[2] && p[2] != ']' ? p[2] : *p;

		if (!*p) {
			*end = NULL;
			return false;
		}
		is_in |= c >= *p && c <= last;
		p += last == *p ? 1 : 3;
	} while (*p != ']');
	*end = p + 1;
	return is_in != is_other;
}

/* Matches a whole text with a shell pattern: *, ?, [a-z], \\. */
static bool matches(const char *pattern, const char *text)
{
	const char *star = NULL, *from = text, *end = NULL;

	while (*text) {
		const bool is_set = *pattern == '[';

		if (*pattern == '*') {
			star = ++pattern;
			from = text;
		} else if (is_set && is_of_set(pattern + 1, *text, &end)) {
			pattern = end;
			text++;
		} else if (*pattern == '?' ||
		           (!(is_set && end) && *pattern != '\\' && *pattern == *text)) {
			pattern++;
			text++;
		} else if (*pattern == '\\' && pattern[1] == *text) {
			pattern += 2;
			text++;
		} else if (star) {
			pattern = star;
			text = ++from;
		} else {
			return false;
		}
	}
	return !pattern[strspn(pattern, "*")];
}

/* --- the judgement ------------------------------------------------------------------------ */

#define add_words(judgement, ...) \
	ws_say_add((judgement)->words, sizeof((judgement)->words), __VA_ARGS__)

/* Runs per side for an effect of this size, more than the smaller side has; 0: unknown. */
static unsigned runs_for(const struct ws_comparison *c, double effect)
{
	const size_t given =
	        c->recordings[0] < c->recordings[1] ? c->recordings[0] : c->recordings[1];
	unsigned n = ws_grade_recordings_for(c, effect, 1 - WS_GATE_CHANCE);

	if (!n && c->basis == WS_BASIS_STEPS)
		n = WS_GRADE_RECORDINGS;
	return n && n <= given ? (unsigned)given + 1 : n;
}

static enum ws_gate_outcome judge(const struct ws_diff_result *r, const struct ws_diff_opts *opts,
                                  struct ws_gate_judgement *j)
{
	const struct ws_comparison *c = &r->overall;
	const struct ws_grade_opts grade = ws_grade_opts_of(opts, true);
	const double effect = ws_grade_effect(c, &grade);

	if (c->basis == WS_BASIS_NONE || c->grade == WS_GRADE_UNLIKE)
		return WS_GATE_UNDECIDED;
	if (ws_clocks_differ(r->clock_mhz[0], r->clock_mhz[1])) {
		if (!strstr(r->verdict, " MHz)"))
			add_words(j, " The clocks differed: %.0f and %.0f MHz.", r->clock_mhz[0],
			          r->clock_mhz[1]);
		add_words(j, " Lock them, or record again.");
		return WS_GATE_UNDECIDED;
	}
	/* as recordings of the baseline's are, if nobody recorded the candidate */
	if (c->identical)
		add_words(j, " All times are those of the baseline.");
	/* Does a grade based on so few runs count? */
	if (!(c->basis == WS_BASIS_RECORDINGS || c->basis == WS_BASIS_PAIRS || c->identical ||
	      !isnan(opts->run_noise_percent))) {
		add_words(j, " Record three runs or more per side, or pass --run-noise.");
		j->runs_needed = runs_for(c, effect);
		return WS_GATE_UNDECIDED;
	}

	const double most = 1 + fmax(0, opts->threshold_percent) / 100;

	/* slow steps, of which the median says nothing */
	if (r->mean.basis != WS_BASIS_NONE && r->mean.low > most && !ws_grade_is_slower(c->grade)) {
		add_words(j, " `warpsheet report TRACE --table steps` shows these steps.");
		return WS_GATE_UNDECIDED;
	}
	if (c->grade == WS_GRADE_SAME || ws_grade_is_faster(c->grade))
		return WS_GATE_PASSED;
	if (!ws_grade_is_slower(c->grade)) {
		j->runs_needed = runs_for(c, effect);
		return WS_GATE_UNDECIDED;
	}

	if (c->high <= most)
		return WS_GATE_PASSED;
	if (c->low <= most) {
		add_words(j, " Whether it is over the threshold is not certain.");
		j->runs_needed = runs_for(c, ws_expm1(fabs(ws_log(c->ratio / most))));
		return WS_GATE_UNDECIDED;
	}
	if (!(c->p <= WS_GATE_CHANCE)) {
		add_words(j, " The gate asks for a 99 %% CI.");
		j->runs_needed = runs_for(c, effect);
		return WS_GATE_UNDECIDED;
	}
	return WS_GATE_SLOWER;
}

void ws_gate_judge(const struct ws_diff_result *result, const struct ws_diff_opts *opts,
                   const struct ws_gate_key *key, const struct ws_gate_accepted *accepted,
                   size_t naccepted, const char *today, struct ws_gate_judgement *out)
{
	const struct ws_comparison *c = &result->overall;

	*out = (struct ws_gate_judgement){0};
	if (c->grade == WS_GRADE_UNLIKE)
		add_words(out, "Different work: %s.", result->reasons);
	else
		add_words(out, "%s", result->verdict);
	out->outcome = judge(result, opts, out);
	if (result->pairs_apart)
		add_words(out, " Left out, because the clocks of their runs differed: %zu pair%s.",
		          result->pairs_apart, WS_PLURAL(result->pairs_apart));
	/* sentences of the comparison already contain the number of runs */
	if (out->runs_needed && !strstr(out->words, " Record "))
		add_words(out,
		          c->basis == WS_BASIS_PAIRS ? " Record %u pairs or more."
		                                     : " Record %u runs or more per side.",
		          out->runs_needed);

	static const char *const sides[] = {"baseline", "runs"};

	for (int s = 0; s < 2; s++)
		if (result->copies[s])
			add_words(out,
			          " In the %s %zu trace%s the same bytes as another; a run "
			          "counts once.",
			          sides[s], result->copies[s],
			          result->copies[s] == 1 ? " has" : "s have");
	if (out->outcome == WS_GATE_SLOWER) {
		/* the matching line with the latest last day */
		const struct ws_gate_accepted *a = NULL;

		for (size_t i = 0; i < naccepted; i++)
			if (matches(accepted[i].workload, key->workload) &&
			    matches(accepted[i].device, key->device) &&
			    c->ratio <= 1 + accepted[i].percent / 100 &&
			    (!a || strcmp(accepted[i].last_day, a->last_day) > 0))
				a = &accepted[i];
		if (!a)
			return;
		if (strcmp(today, a->last_day) <= 0)
			out->outcome = WS_GATE_ACCEPTED;
		snprintf(out->accepted, sizeof(out->accepted), "%s until %s: %s.",
		         out->outcome == WS_GATE_ACCEPTED ? "Accepted" : "It was accepted",
		         a->last_day, a->reason);
		add_words(out, " %s", out->accepted);
	}
}
