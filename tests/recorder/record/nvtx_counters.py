"""NVTX counters, by NVIDIA's own headers: nvtx_counters.py CC NVTX_INCLUDE WARPSHEET_RECORD WARPSHEET

A program registers every kind of counter and samples it in every way. Series, values, tables, exports and losses are right by hand.
"""
import json
import os
import re
import subprocess
import sys
import tempfile
import zipfile

import nvtx_program

SOURCE = r"""
#include <stddef.h>
#include <string.h>
#include <time.h>
#include <nvtx3/nvToolsExtCounters.h>
#include <nvtx3/nvToolsExtSemanticsCounters.h>
#include <nvtx3/nvToolsExtSemanticsScope.h>
#include <nvtx3/nvToolsExtSemanticsTime.h>

static uint64_t add(const char *name, uint64_t schema, uint64_t id, uint64_t scope, const void *semantics)
{
	nvtxCounterAttr_t a = {sizeof(a), schema, name, strcmp(name, "tokens") ? NULL : "since the start", scope, semantics, id};

	return nvtxCounterRegister(domain, &a);
}

static nvtxSemanticsCounter_t counter(const char *unit, uint64_t flags, uint64_t numerator, uint64_t denominator)
{
	nvtxSemanticsCounter_t s = {{sizeof(s), NVTX_SEMANTIC_ID_COUNTERS_V1, NVTX_COUNTER_SEMANTIC_VERSION, NULL}, flags, unit, numerator, denominator};

	return s;
}

static nvtxSemanticsTime_t timed(uint64_t clock)
{
	nvtxSemanticsTime_t s = {{sizeof(s), NVTX_SEMANTIC_ID_TIME_V1, NVTX_TIME_SEMANTIC_VERSION, NULL}, clock};

	return s;
}

static int64_t now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000 + t.tv_nsec;
}

static void submit(uint64_t id, const void *values, size_t size, const int64_t *times, size_t ntimes, uint64_t flags)
{
	nvtxCounterBatch_t b = {id, values, size, flags, times, ntimes * sizeof(*times)};

	nvtxCounterBatchSubmit(domain, &b);
}

struct pair { int32_t x, y; };
struct group { double temperature; uint8_t load; char name[7]; uint16_t fan[2]; struct pair at; uint64_t large; const char *where; };
struct timed { int64_t when; float value; };

static const nvtxPayloadEnum_t states[] = {{"off", 0, 0}, {"on", 1, 0}};

int main(void)
{
	nvtxScopeAttr_t node = {sizeof(node), "node[1]", NVTX_SCOPE_ROOT, ID(1)}, gpu = {sizeof(gpu), "gpu[0]", ID(1), NVTX_SCOPE_NONE};
	nvtxSemanticsCounter_t tokens = counter("tokens", NVTX_COUNTER_FLAG_VALUETYPE_DELTA_SINCE_START, 1, 1),
	                       memory = counter("MiB", NVTX_COUNTER_FLAG_LIMITS | NVTX_COUNTER_FLAG_VALUETYPE_ABSOLUTE, 1, 1024),
	                       load = counter("", NVTX_COUNTER_FLAG_NORMALIZE, 1, 1), celsius = counter("C", NVTX_COUNTER_FLAG_LIMIT_MAX, 1, 1);
	nvtxSemanticsTime_t raw = timed(NVTX_TIMESTAMP_TYPE_CPU_CLOCK_GETTIME_MONOTONIC_RAW), tsc = timed(NVTX_TIMESTAMP_TYPE_CPU_TSC);
	nvtxSemanticsScope_t in_gpu = {{sizeof(in_gpu), NVTX_SEMANTIC_ID_SCOPE_V1, 1, NULL}, 0};
	nvtxSemanticsTime_t of_field = timed(NVTX_TIMESTAMP_TYPE_TOOL_PROVIDED);
	const nvtxPayloadSchemaEntry_t pairs[] = {{0, NVTX_PAYLOAD_ENTRY_TYPE_INT32, "x"}, {0, NVTX_PAYLOAD_ENTRY_TYPE_INT32, "y"}};
	const nvtxPayloadSchemaEntry_t fields[] = {
		{0, NVTX_PAYLOAD_ENTRY_TYPE_DOUBLE, "temperature", "of the die", 0, offsetof(struct group, temperature), &celsius.header},
		{0, NVTX_PAYLOAD_ENTRY_TYPE_UINT8, "load", NULL, 0, offsetof(struct group, load), &load.header},
		{0, NVTX_PAYLOAD_ENTRY_TYPE_CSTRING, "name", NULL, 7, offsetof(struct group, name)},
		{NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE, NVTX_PAYLOAD_ENTRY_TYPE_UINT16, "fan", NULL, 2, offsetof(struct group, fan)},
		{0, ID(2), "at", NULL, 0, offsetof(struct group, at)},
		{0, NVTX_PAYLOAD_ENTRY_TYPE_UINT64, "large", NULL, 0, offsetof(struct group, large), &in_gpu.header},
		{0, NVTX_PAYLOAD_ENTRY_TYPE_CSTRING, "where", NULL, 0, offsetof(struct group, where)}};
	const nvtxPayloadSchemaEntry_t shares[] = {{0, NVTX_PAYLOAD_ENTRY_TYPE_INT64, "when", NULL, 0, 0, &of_field.header},
	                                           {0, NVTX_PAYLOAD_ENTRY_TYPE_UINT8, "share", NULL, 0, 8, &load.header}};
	const nvtxPayloadSchemaEntry_t far[] = {{0, NVTX_PAYLOAD_ENTRY_TYPE_INT64, "when", NULL, 0, 1ull << 32, &of_field.header},
	                                        {0, NVTX_PAYLOAD_ENTRY_TYPE_FLOAT, "value", NULL, 0, 8}};
	const nvtxPayloadSchemaEntry_t with_time[] = {{0, NVTX_PAYLOAD_ENTRY_TYPE_INT64, "when", NULL, 0, 0, &of_field.header},
	                                              {0, NVTX_PAYLOAD_ENTRY_TYPE_FLOAT, "value"}};
	struct group g = {61.5, 51, "a", {7, 8}, {-1, 2}, UINT64_MAX, "b"};
	struct timed t[2] = {{0, 1.25f}, {0, -2.5f}};
	int64_t values[3] = {10, 20, 30}, times[3];
	uint64_t id, batched, of_tsc, small;
	static char path[2000];
	uint8_t state = 1;

	domain = nvtxDomainCreateA("model");
	nvtxScopeRegister(domain, &node);
	in_gpu.scopeId = nvtxScopeRegister(domain, &gpu);
	memory.limitType = NVTX_COUNTER_LIMIT_I64, memory.min.i64 = 0, memory.max.i64 = 4096;
	celsius.limitType = NVTX_COUNTER_LIMIT_F64, celsius.max.f64 = 61;
	add_schema(ID(2), pairs, 2, sizeof(struct pair));
	add_schema(ID(3), fields, 7, sizeof(g));
	add_schema(ID(4), with_time, 2, sizeof(*t));
	add_enum(ID(5), states, 2, 1);
	add_schema(ID(6), shares, 2, 16);
	add_schema(ID(7), far, 2, sizeof(*t));

	/* two steps of three samples each; each sample alone, by its value */
	id = add("tokens", NVTX_PAYLOAD_ENTRY_TYPE_INT64, ID(20), NVTX_SCOPE_CURRENT_SW_PROCESS, &tokens);
	small = add("loss", NVTX_PAYLOAD_ENTRY_TYPE_DOUBLE, 0, 0, NULL);
	for (int i = 0; i < 6; i++) {
		if (i % 3 == 0)
			nvtxRangePushA("step");
		nvtxCounterSampleInt64(domain, ID(20), 100 * (i + 1));
		nvtxCounterSampleFloat64(domain, small, 1.0 / (i + 1));
		if (i % 3 == 2)
			nvtxRangePop();
	}
	/* of a scale: KiB shown as MiB */
	id = add("memory", NVTX_PAYLOAD_ENTRY_TYPE_INT64, 0, ID(1), &memory);
	nvtxCounterSampleInt64(domain, id, 2048);
	nvtxCounterSampleInt64(domain, id, 8192);
	/* no value: zero, as before, not available */
	for (int i = 0; i < 3; i++)
		nvtxCounterSampleNoValue(domain, id, (uint8_t)i);
	nvtxCounterSampleNoValue(domain, small, NVTX_COUNTER_SAMPLE_UNCHANGED);
	/* a group: fields of every kind, two of which are texts */
	nvtxCounterSample(domain, add("sensors", ID(3), 0, 0, NULL), &g, sizeof(g));
	nvtxCounterSample(domain, add("state", ID(5), 0, 0, NULL), &state, 1);
	/* batches: a time each; a time and an interval; times in the samples; a clock that nobody knows */
	batched = add("batched", NVTX_PAYLOAD_ENTRY_TYPE_INT64, 0, 0, &raw);
	for (int i = 0; i < 3; i++)
		times[i] = now(CLOCK_MONOTONIC_RAW) - 3000 + 1000 * i;
	submit(batched, values, sizeof(values), times, 3, 0);
	times[1] = 1000;
	submit(batched, values, sizeof(values), times, 2, 0);
	id = add("timed", ID(4), 0, 0, NULL);
	t[0].when = t[1].when = now(CLOCK_MONOTONIC);
	submit(id, t, sizeof(t), NULL, 0, 0);
	of_tsc = add("of tsc", NVTX_PAYLOAD_ENTRY_TYPE_INT64, 0, 0, &tsc);
	submit(of_tsc, values, sizeof(values), times, 3, 0);
	submit(batched, values, sizeof(values), NULL, 0, 0);
	/* not registered; too short; one value of several; a schema that nobody registered */
	nvtxCounterSampleInt64(domain, ID(99), 1);
	nvtxCounterSample(domain, small, &g, 4);
	nvtxCounterSampleInt64(domain, id + 1000000, 1);
	id = add("without schema", ID(77), ID(21), 0, NULL);
	nvtxCounterSampleInt64(domain, id, 1);
	/* the same id for another counter: from now on */
	add("renamed", NVTX_PAYLOAD_ENTRY_TYPE_INT64, ID(20), 0, NULL);
	nvtxCounterSampleInt64(domain, ID(20), -5);
	/* two counters that differ by their ids alone */
	for (int i = 0; i < 2; i++)
		nvtxCounterSampleInt64(domain, add("twin", NVTX_PAYLOAD_ENTRY_TYPE_INT64, ID(30 + i), 0, NULL), i);
	/* the only number of a group, by its value; fields that are cut; a time beyond each sample */
	nvtxCounterSampleInt64(domain, add("shares", ID(6), 0, 0, NULL), 51);
	nvtxCounterSample(domain, add("cut", ID(2), 0, 0, NULL), &g, 2);
	submit(add("far", ID(7), 0, 0, NULL), t, sizeof(t), NULL, 0, 0);
	/* a batch that ends in a sample; times beside it, of a clock that nobody knows */
	times[0] = now(CLOCK_MONOTONIC_RAW);
	submit(batched, values, 12, times, 1, 0);
	submit(add("beside", ID(4), 0, 0, &tsc), t, sizeof(t), &t[0].when, 1, 0);
	/* semantics in a circle; a scope with a reserved id; a long path */
	celsius.header.next = &celsius.header;
	add("circle", NVTX_PAYLOAD_ENTRY_TYPE_INT64, 0, 0, &celsius);
	gpu.scopeId = 5;
	nvtxScopeRegister(domain, &gpu);
	memset(path, 'x', sizeof(path) - 1);
	node.path = path;
	nvtxScopeRegister(domain, &node);
	return 0;
}
"""


# name, group, unit, values in order, and of the table: minimum, mean, maximum, last, change per step, without value, outside limits
NOTHING = (None, None, None, None, None, 0, None)
SERIES = [
    ("tokens", "", "tokens", [100, 200, 300, 400, 500, 600], (100, 350, 600, 600, 300, 0, None)),
    ("loss", "", "", [1, 1 / 2, 1 / 3, 1 / 4, 1 / 5, 1 / 6, 1 / 6], (1 / 6, (1 + 1 / 2 + 1 / 3 + 1 / 4 + 1 / 5 + 1 / 6 + 1 / 6) / 7, 1, 1 / 6, None, 0, None)),
    ("memory", "", "MiB", [2, 8, 0, 0, None], (0, 2.5, 8, 0, None, 1, 1)),
    ("temperature", "sensors", "C", [61.5], (61.5, 61.5, 61.5, 61.5, None, 0, 1)),
    ("load", "sensors", "", [51 / 255], (0.2, 0.2, 0.2, 0.2, None, 0, None)),
    ("fan[0]", "sensors", "", [7], (7, 7, 7, 7, None, 0, None)),
    ("fan[1]", "sensors", "", [8], (8, 8, 8, 8, None, 0, None)),
    ("at.x", "sensors", "", [-1], (-1, -1, -1, -1, None, 0, None)),
    ("at.y", "sensors", "", [2], (2, 2, 2, 2, None, 0, None)),
    ("large", "sensors", "", [2.0 ** 64], (2.0 ** 64, 2.0 ** 64, 2.0 ** 64, 2.0 ** 64, None, 0, None)),
    ("state", "", "", [1], (1, 1, 1, 1, None, 0, None)),
    ("batched", "", "", [10, 10, 10, 20, 20, 30, 30], (10, 130 / 7, 30, 10, None, 0, None)),
    ("value", "timed", "", [1.25, -2.5], (-2.5, -0.625, 1.25, -2.5, None, 0, None)),
    ("of tsc", "", "", [], NOTHING),
    ("renamed", "", "", [-5], (-5, -5, -5, -5, None, 0, None)),
    ("twin", "", "", [0], (0, 0, 0, 0, None, 0, None)),
    ("twin", "", "", [1], (1, 1, 1, 1, None, 0, None)),
    ("share", "shares", "", [51 / 255], (0.2, 0.2, 0.2, 0.2, None, 0, None)),
    ("x", "cut", "", [], NOTHING),
    ("y", "cut", "", [], NOTHING),
    ("value", "far", "", [], NOTHING),
    ("value", "beside", "", [], NOTHING),
    ("circle", "", "C", [], (None, None, None, None, None, 0, 0)),
]
TEXTS = {"tokens": ("process", "since the start"), "memory": ("node[1]", ""), "temperature": ("", "of the die"), "large": ("node[1]/gpu[0]", "")}
LOST = {"nvtx_not_kept_counters": 3, "nvtx_not_kept_counter_samples": 11, "nvtx_not_kept_counter_batches": 2, "nvtx_not_kept_schema_details": 1,
        "nvtx_not_kept_scopes": 1, "text_truncated": 1}


def number(text):
    return float(text) if text else None


def same(what, found, wanted):
    if found != wanted:
        sys.exit(f"{what}: {found!r}, not {wanted!r}")


def main(compiler, include, record, warpsheet):
    with tempfile.TemporaryDirectory() as folder:
        program, trace = nvtx_program.build(folder, SOURCE, compiler, include), os.path.join(folder, "t.wtrace")
        subprocess.run([record, "-o", trace, "--", program], check=True, capture_output=True)

        def ask(query):
            return nvtx_program.rows(warpsheet, "query", trace, query, "--format", "csv")

        samples = [(int(of), number(value)) for of, value in ask("SELECT counter, value FROM counter_sample")]
        found = ask('SELECT name, of_group, domain, unit, samples, minimum, mean, maximum, last, step_change, unavailable, outside, scope, description FROM counters')
        same("counters", [row[:3] for row in found], [(name, group, "model") for name, group, _, _, _ in SERIES])
        for i, (row, (name, group, unit, values, sums)) in enumerate(zip(found, SERIES)):
            same(name, (row[3], int(row[4]), row[12:]), (unit, len(values), TEXTS.get(name, ("", ""))))
            same(f"sums of {name}", [round(number(n), 9) if n else None for n in row[5:12]], [round(n, 9) if n is not None else None for n in sums])
            same(f"samples of {name}", sorted(v for of, v in samples if of == i + 1 and v is not None), sorted(v for v in values if v is not None))
        # one thread; times of the program's clocks lie between those of the recorder
        same("threads", ask("SELECT count(DISTINCT thread), count(*) = count(thread) FROM counter_sample"), [("1", "1")])
        same("times", ask("SELECT count(*) FROM counter_sample WHERE time_ns < 0"), [("0",)])
        same("samples in steps", ask("SELECT name, in_steps FROM counters WHERE in_steps > 0"), [("tokens", "6"), ("loss", "6")])
        same("losses", {cause: int(n) for cause, n in ask("SELECT cause, max(count) FROM loss_record GROUP BY cause HAVING max(count) > 0")}, LOST)
        # over time; as a timeline, whose tracks leave out what has no value
        same("over time", [int(n) for n, in ask("SELECT count(*) FROM counter_samples GROUP BY counter")], [len(v) for _, _, _, v, _ in SERIES if v])
        subprocess.run([warpsheet, "export", trace, "-o", os.path.join(folder, "t.json")], check=True, capture_output=True)
        with open(os.path.join(folder, "t.json"), encoding="utf-8") as f:
            events = [e for e in json.load(f)["traceEvents"] if e["ph"] == "C"]
        for name, group, unit, _, _ in SERIES:
            track = f"model:{group}.{name}" if group else f"model:{name}"
            same(track, sorted(e["args"][unit or "value"] for e in events if e["name"] == track),
                 sorted(v for other in SERIES if other[:2] == (name, group) for v in other[3] if v is not None))
        # in the workbook, a chart for each of the first eight that have three samples and a value to draw
        workbook = os.path.join(folder, "t.xlsx")
        subprocess.run([warpsheet, "report", trace, "--scope", "all", "-o", workbook], check=True, capture_output=True)
        with zipfile.ZipFile(workbook) as book:
            texts = [book.read(n).decode() for n in book.namelist() if n.startswith("xl/charts/chart")]
        same("charts", sorted(t for text in texts for t in re.findall("<a:t>Counter over time, ([^<]*)", text)),
             sorted(", ".join(part for part in (group, name, unit) if part)
                    for name, group, unit, values, _ in [one for one in SERIES if one[3]][:8] if len(values) > 2 and any(values)))
        # there and back by a database
        database = os.path.join(folder, "t.sqlite")
        subprocess.run([warpsheet, "export", trace, "-o", database], check=True, capture_output=True)
        back = os.path.join(folder, "back.wtrace")
        subprocess.run([warpsheet, "import", database, "-o", back], check=True, capture_output=True)
        same("there and back", *(nvtx_program.rows(warpsheet, "report", of, "--table", "counters", "--format", "csv") for of in (back, trace)))


main(*sys.argv[1:])
