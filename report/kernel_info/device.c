/* Peak rates of devices, and occupancy. */
#include "report/base/names.h"
#include "report/kernel_info/occupancy.h"
#include "report/kernel_info/classify.h"

/* --- peak rates ------------------------------------------------------------------------------ */

static const char builtin_rows[] = {
#include "device_peaks.inc"
};

static const struct {
	const char *name;
	double factor;
} kinds[] = {
#define X(NAME, name, factor, unit, meaning) [WS_PEAK_##NAME] = {#name, factor},
        WS_PEAK_LIST(X)
#undef X
};

struct ws_peaks {
	struct ws_device_peaks *rows;
	size_t nrows, capacity;
	struct ws_arena texts; /* patterns and sources */
};

/* --- rows ----------------------------------------------------------------------- */

/* Removes the part before the next '|', or the rest, from the front of a line, and returns it
 * without blanks. */
static struct ws_text next_part(struct ws_text *line)
{
	const char *bar = memchr(line->pos, '|', (size_t)(line->end - line->pos));
	struct ws_text rest = {line->pos, bar ? bar : line->end};

	line->pos = bar ? bar + 1 : line->end;
	return ws_text_line(&rest);
}

/*
 * Parses "989.4": digits, and optionally a point with digits. Correctly rounded, because both parts
 * are exact; independent of the locale.
 */
static bool parse_number(struct ws_text word, double *out)
{
	uint64_t digits = 0, scale = 1;
	int point = 0;
	unsigned n = 0;

	for (; word.pos < word.end; word.pos++) {
		if (*word.pos == '.' && !point && n) {
			point = 1;
			continue;
		}
		if (*word.pos < '0' || *word.pos > '9' || ++n > 15)
			return false;
		digits = digits * 10 + (uint64_t)(*word.pos - '0');
		if (point)
			scale *= 10;
	}
	*out = (double)digits / (double)scale;
	return n && word.pos[-1] != '.' && digits;
}

static enum ws_status add_rows(struct ws_peaks *p, const char *bytes, size_t len, int from_user,
                               struct ws_err *err)
{
	struct ws_text text = {bytes, bytes + len};

	for (unsigned n = 1; text.pos < text.end; n++) {
		struct ws_text line = ws_text_line(&text);

		if (ws_text_says_nothing(line))
			continue;
		WS_FAIL_IF(p->nrows == WS_PEAKS_MAX_ROWS, err, USAGE,
		           "device peaks, line %u: more than %u rows", n, WS_PEAKS_MAX_ROWS);
		WS_GROW(p->rows, p->nrows + 1, p->capacity);
		p->rows[p->nrows] = (struct ws_device_peaks){.from_user = from_user};
		struct ws_device_peaks *row = &p->rows[p->nrows];

		WS_FAIL_IF(memchr(line.pos, '\0', (size_t)(line.end - line.pos)), err, USAGE,
		           "device peaks, line %u: a NUL byte", n);
		struct ws_text pattern = next_part(&line);
		struct ws_text values = next_part(&line);
		struct ws_text source = next_part(&line);
		WS_FAIL_IF(pattern.pos == pattern.end, err, USAGE,
		           "device peaks, line %u: no device name", n);
		struct ws_text part = values;
		WS_FAIL_IF(part.pos == part.end, err, USAGE,
		           "device peaks, line %u: no quantities; a row is NAME | PEAKS | SOURCE",
		           n);
		while (part.pos < part.end) {
			struct ws_text name = ws_text_word(&part), value = ws_text_word(&part);
			double number;
			int kind = 0;

			while (kind < WS_PEAK_COUNT && !ws_text_is(name, kinds[kind].name))
				kind++;
			WS_FAIL_IF(kind == WS_PEAK_COUNT, err, USAGE,
			           "device peaks, line %u: '%.*s' is not one of fp32, tf32, fp16, "
			           "bf16, fp8, memory",
			           n, WS_TEXT_SHOWN(name));
			WS_FAIL_IF(!parse_number(value, &number), err, USAGE,
			           "device peaks, line %u: '%.*s' is not a positive number for %s",
			           n, WS_TEXT_SHOWN(value), kinds[kind].name);
			WS_FAIL_IF(row->value[kind] > 0, err, USAGE,
			           "device peaks, line %u: %s twice", n, kinds[kind].name);
			row->value[kind] = number * kinds[kind].factor;
		}
		WS_FAIL_IF(source.pos == source.end, err, USAGE,
		           "device peaks, line %u: no source; a row is NAME | PEAKS | SOURCE", n);
		row->pattern =
		        ws_arena_copy(&p->texts, pattern.pos, (size_t)(pattern.end - pattern.pos));
		row->source =
		        ws_arena_copy(&p->texts, source.pos, (size_t)(source.end - source.pos));
		p->nrows++;
	}
	return WS_OK;
}

enum ws_status ws_peaks_new(const char *user_rows, size_t len, struct ws_peaks **out,
                            struct ws_err *err)
{
	*out = NULL;
	WS_FAIL_IF(user_rows && len > WS_PEAKS_MAX_BYTES, err, USAGE,
	           "device peaks: %zu bytes, more than %u", len, WS_PEAKS_MAX_BYTES);
	struct ws_peaks *p = ws_xarray(1, sizeof(*p));
	enum ws_status status = user_rows ? add_rows(p, user_rows, len, 1, err) : WS_OK;
	WS_THEN(status, add_rows(p, builtin_rows, sizeof(builtin_rows), 0, err));
	if (status != WS_OK) {
		ws_peaks_free(p);
		return status;
	}
	*out = p;
	return WS_OK;
}

void ws_peaks_free(struct ws_peaks *p)
{
	if (!p)
		return;
	ws_arena_free(&p->texts);
	free(p->rows);
	free(p);
}

/* --- look-up ---------------------------------------------------------------------- */

bool ws_peaks_find(const struct ws_peaks *p, const char *name, size_t len,
                   struct ws_device_peaks *out)
{
	memset(out, 0, sizeof(*out));
	for (size_t i = 0; i < p->nrows; i++) {
		const char *pattern = p->rows[i].pattern;

		if (ws_name_matches(ws_bytes_of(pattern), (struct ws_bytes){name, len})) {
			*out = p->rows[i];
			return true;
		}
	}
	return false;
}

bool ws_peaks_row(const struct ws_peaks *p, size_t row, struct ws_device_peaks *out)
{
	if (row >= p->nrows)
		return false;
	*out = p->rows[row];
	return true;
}

void ws_device_peaks_measured(struct ws_device_peaks *peaks, enum ws_peak which, double value)
{
	if (!isfinite(value) || value <= 0)
		return;
	peaks->value[which] = value;
	peaks->measured |= 1u << which;
}

const char *ws_peak_name(enum ws_peak which)
{
	return kinds[which].name;
}

bool ws_device_name_is_amd(const char *name, size_t len)
{
	static const char *const words[] = {"AMD", "Radeon", "Instinct", "gfx9", "gfx1"};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (memmem(name, len, words[i], strlen(words[i])))
			return true;
	return false;
}

/* --- occupancy ------------------------------------------------------------------------------- */

#define KIB                  1024u
#define WARP_THREADS         32u
#define REGISTER_GRANULARITY 256u /* per warp */
#define FACT_MAX             ((int64_t)1 << 30)

/*
 * CUDA C++ Programming Guide, "Technical Specifications per Compute Capability"; reserved bytes,
 * granularity and sub-partitions as in NVIDIA's cuda_occupancy.h. For all: 1,024 threads per block,
 * 65,536 registers per SM, 48 KiB of shared memory per block without opt-in.
 */
static const struct capability {
	uint8_t major, minor;
	uint16_t threads_per_sm, blocks_per_sm;
	uint8_t registers_per_block_kib, sub_partitions;
	uint8_t shared_per_sm_kib, shared_optin_kib, shared_reserved_kib;
	uint16_t shared_granularity_bytes;
} capabilities[] = {
        {5, 0, 2048, 32, 64, 4, 64, 48, 0, 256},    {5, 2, 2048, 32, 64, 4, 96, 48, 0, 256},
        {5, 3, 2048, 32, 32, 4, 64, 48, 0, 256},    {6, 0, 2048, 32, 64, 2, 64, 48, 0, 256},
        {6, 1, 2048, 32, 64, 4, 96, 48, 0, 256},    {6, 2, 2048, 32, 32, 4, 64, 48, 0, 256},
        {7, 0, 2048, 32, 64, 4, 96, 96, 0, 256},    {7, 2, 2048, 32, 64, 4, 96, 96, 0, 256},
        {7, 5, 1024, 16, 64, 4, 64, 64, 0, 256},    {8, 0, 2048, 32, 64, 4, 164, 163, 1, 128},
        {8, 6, 1536, 16, 64, 4, 100, 99, 1, 128},   {8, 7, 1536, 16, 64, 4, 164, 163, 1, 128},
        {8, 8, 1536, 16, 64, 4, 100, 99, 1, 128},   {8, 9, 1536, 24, 64, 4, 100, 99, 1, 128},
        {9, 0, 2048, 32, 64, 4, 228, 227, 1, 128},  {10, 0, 2048, 32, 64, 4, 228, 227, 1, 128},
        {10, 1, 1536, 24, 64, 4, 228, 227, 1, 128}, {10, 3, 2048, 32, 64, 4, 228, 227, 1, 128},
        {11, 0, 1536, 24, 64, 4, 228, 227, 1, 128}, {12, 0, 1536, 24, 64, 4, 100, 99, 1, 128},
        {12, 1, 1536, 24, 64, 4, 100, 99, 1, 128},
};

void ws_device_facts_init(struct ws_device_facts *facts)
{
#define X(name, least) facts->name = -1;
	WS_DEVICE_FACT_LIST(X)
#undef X
}

bool ws_device_facts_set(struct ws_device_facts *facts, const char *attr, size_t len, int64_t value)
{
#define X(name, least)                                                               \
	if (len == strlen(#name) && !memcmp(attr, #name, len) && value >= (least) && \
	    value <= FACT_MAX) {                                                     \
		facts->name = value;                                                 \
		return 1;                                                            \
	}
	WS_DEVICE_FACT_LIST(X)
#undef X
	return 0;
}

static uint32_t recorded_or(int64_t recorded, uint32_t otherwise)
{
	return recorded < 0 ? otherwise : (uint32_t)recorded;
}

bool ws_sm_limits_from(const struct ws_device_facts *facts, struct ws_sm_limits *limits)
{
	const struct capability *c = capabilities,
	                        *end = c + sizeof(capabilities) / sizeof(*capabilities);

	memset(limits, 0, sizeof(*limits));
	while (c < end && (c->major != facts->compute_capability_major ||
	                   c->minor != facts->compute_capability_minor))
		c++;
	if (c == end || facts->sm_count < 0)
		return false;

	*limits = (struct ws_sm_limits){
	        .major = c->major,
	        .minor = c->minor,
	        .sm_count = (uint32_t)facts->sm_count,
	        .threads_per_block = recorded_or(facts->max_threads_per_block, 1024),
	        .threads_per_sm = recorded_or(facts->max_threads_per_sm, c->threads_per_sm),
	        .blocks_per_sm = recorded_or(facts->max_blocks_per_sm, c->blocks_per_sm),
	        .registers_per_block =
	                recorded_or(facts->registers_per_block, c->registers_per_block_kib * KIB),
	        .registers_per_sm = recorded_or(facts->registers_per_sm, 64 * KIB),
	        .registers_per_thread = c->major < 7 ? 255 : 256,
	        .sub_partitions = c->sub_partitions,
	        .shared_per_block_bytes = recorded_or(facts->shared_per_block_bytes, 48 * KIB),
	        .shared_per_block_optin_bytes =
	                recorded_or(facts->shared_per_block_optin_bytes, c->shared_optin_kib * KIB),
	        .shared_reserved_bytes = recorded_or(facts->shared_reserved_per_block_bytes,
	                                             c->shared_reserved_kib * KIB),
	        .shared_per_sm_bytes =
	                recorded_or(facts->shared_per_sm_bytes, c->shared_per_sm_kib * KIB),
	        .shared_granularity_bytes = c->shared_granularity_bytes,
	};
	return true;
}

/* --- how many blocks fit -------------------------------------------------------- */

static uint64_t round_up(uint64_t v, uint64_t multiple)
{
	return (v + multiple - 1) / multiple * multiple;
}

/* UINT64_MAX: no limit. */
static uint64_t registers_limit(const struct ws_sm_limits *l, uint64_t registers, uint64_t warps)
{
	uint64_t of_warp = round_up(registers * WARP_THREADS, REGISTER_GRANULARITY);

	if (!registers)
		return UINT64_MAX;
	/* the hardware's launch check rounds up to four partitions, also on 6.0 */
	if (registers > l->registers_per_thread ||
	    of_warp * round_up(warps, 4) > l->registers_per_block)
		return 0;
	uint64_t warps_per_partition = l->registers_per_sm / l->sub_partitions / of_warp;
	return warps_per_partition * l->sub_partitions / warps;
}

/* Number of blocks that fit on an SM with this limit of shared memory per block. */
static uint32_t blocks_that_fit(const struct ws_sm_limits *l, const struct ws_launch_shape *s,
                                uint64_t threads, uint32_t shared_per_block_bytes)
{
	const uint64_t warps = round_up(threads, WARP_THREADS) / WARP_THREADS;
	const uint64_t shared =
	        round_up(s->shared_bytes + l->shared_reserved_bytes, l->shared_granularity_bytes);
	const uint64_t limit[] = {
	        l->threads_per_sm / WARP_THREADS / warps,
	        registers_limit(l, s->registers, warps),
	        shared > shared_per_block_bytes + (uint64_t)l->shared_reserved_bytes ? 0
	        : shared ? l->shared_per_sm_bytes / shared
	                 : UINT64_MAX,

	        l->blocks_per_sm,
	};
	uint64_t least = UINT64_MAX;

	for (size_t i = 0; i < sizeof(limit) / sizeof(*limit); i++)
		if (limit[i] < least)
			least = limit[i];
	return (uint32_t)least;
}

/* Single precision and truncation as in Kineto: an exact half may be rounded in either
 * direction. */
static uint32_t kineto_percent(const struct ws_sm_limits *l, uint64_t grid, uint64_t threads,
                               uint32_t active)
{
	float blocks = (float)grid / (float)l->sm_count;

	if ((float)active < blocks)
		blocks = (float)active;
	float occupancy = blocks * (float)threads / (float)l->threads_per_sm;
	return (uint32_t)(0.5 + (double)occupancy * 100.0);
}

/* a * b * c; 0 if a factor is 0 or the product is over limit */
static uint64_t product(uint64_t a, uint64_t b, uint64_t c, uint64_t limit)
{
	uint64_t p;

	if (__builtin_mul_overflow(a, b, &p) || __builtin_mul_overflow(p, c, &p) || p > limit)
		return 0;
	return p;
}

bool ws_occupancy_estimate(const struct ws_sm_limits *l, const struct ws_launch_shape *s,
                           struct ws_occupancy *out)
{
	uint64_t grid = product(s->grid_x, s->grid_y, s->grid_z, UINT64_MAX);
	uint64_t threads = product(s->block_x, s->block_y, s->block_z, l->threads_per_block);
	double resident;

	memset(out, 0, sizeof(*out));
	if (!grid || !threads || s->registers > UINT16_MAX || s->shared_bytes > UINT32_MAX)
		return false;

	out->active_blocks = blocks_that_fit(l, s, threads, l->shared_per_block_optin_bytes);
	if (!out->active_blocks)
		return false;
	out->kineto_active_blocks = blocks_that_fit(l, s, threads, l->shared_per_block_bytes);
	out->kineto_percent = kineto_percent(l, grid, threads, out->kineto_active_blocks);

	out->blocks_per_sm = (double)grid / l->sm_count;
	out->warps_per_sm = out->blocks_per_sm * (double)threads / WARP_THREADS;
	resident =
	        out->blocks_per_sm < out->active_blocks ? out->blocks_per_sm : out->active_blocks;
	out->percent = 100.0 * resident * (double)threads / l->threads_per_sm;
	return true;
}
