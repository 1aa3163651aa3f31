"""Imports, held against counts of the files by other readers, and against the same events said in another way.

whole_files.py WARPSHEET SOURCES: the fixtures of the sources, and the files of ../shared/data where they are.
"""
import collections
import csv
import glob
import gzip
import json
import os
import sqlite3
import subprocess
import sys
import tempfile

# categories of events with a duration, and the kind that each becomes
KINDS = {"cpu_op": "cpu_op", "kernel": "kernel", "gpu_memcpy": "memcpy", "gpu_memset": "memset", "cuda_runtime": "api",
         "cuda_driver": "api", "cuda_sync": "sync", "overhead": "overhead", "python_function": "python_call",
         "gpu_user_annotation": "gpu_range", "Kernel": "kernel", "Memcpy": "memcpy", "Memset": "memset",
         "Runtime": "api"}
ARROWS = ("ac2g", "async", "async_cpu", "async_gpu")
TABLES = {"CUPTI_ACTIVITY_KIND_KERNEL": "kernel", "CUPTI_ACTIVITY_KIND_RUNTIME": "api",
          "CUPTI_ACTIVITY_KIND_MEMCPY": "memcpy", "CUPTI_ACTIVITY_KIND_MEMSET": "memset",
          "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": "sync", "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": "graph_launch",
          "PROFILER_OVERHEAD": "overhead", "CUPTI_ACTIVITY_KIND_OVERHEAD": "overhead"}
NAMED = ("TARGET_INFO_GPU", "TARGET_INFO_CUDA_DEVICE", "ThreadNames", "PROCESSES", "TARGET_INFO_CUDA_CONTEXT_INFO",
         "TARGET_INFO_CUDA_STREAM", "ProcessStreams", "NVTX_PAYLOAD_SCHEMAS", "NVTX_PAYLOAD_SCHEMA_ENTRIES")

warpsheet, sources = sys.argv[1:]
data = os.path.join(sources, "../shared/data")
files = sorted(glob.glob(f"{sources}/fixtures/imports/*.json.gz")) + [f"{sources}/fixtures/traces/step-fp32.wtrace"]
files += sorted(glob.glob(f"{data}/kineto/*.json.gz") + glob.glob(f"{data}/nsys/*.sqlite"))
scratch = tempfile.TemporaryDirectory()
folder = scratch.name


def run(*arguments, status=0):
    done = subprocess.run((warpsheet,) + arguments, capture_output=True, text=True, check=False)
    if done.returncode != status:
        sys.exit(f"warpsheet {' '.join(arguments)}: exit {done.returncode}\n{done.stderr}")
    return done


def equal(what, got, want):
    if got != want:
        sys.exit(f"{what}: {got}, not {want}")


def imported(path, trace):
    """What import says: the sums, rows by kind, and what was left out by reason. And the trace."""
    sums, rows, left = {}, {}, {}
    into = sums
    for line in run("import", path, "-o", trace).stdout.splitlines()[1:]:
        if line in ("rows of the trace:", "left out:"):
            into = rows if line[0] == "r" else left
            continue
        count, what = line.split(None, 1)
        into[what] = int(count)
    equal(f"{path}: kept and left out", sums["records kept"] + sums["records left out"], sums["records read"])
    equal(f"{path}: left out by reason", sum(left.values()), sums["records left out"])
    return sums, rows, left


def read_json(path):
    with (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf-8") as f:
        whole = json.load(f)
    return whole if isinstance(whole, dict) else {"traceEvents": whole}


def check_json(path):
    """Kept is what the events are, one by one, and not what is left of their number."""
    sums, rows, left = imported(path, os.path.join(folder, "t.wtrace"))
    events = read_json(path)["traceEvents"]
    seen = collections.Counter((e.get("ph"), e.get("cat")) for e in events)
    kinds = collections.Counter()

    for category, kind in KINDS.items():
        kinds[kind] += seen["X", category]
    equal(f"{path}: records read", sums["records read"], len(events))
    for kind in list(kinds):
        if kind != "cpu_op" or not seen["X", "Operator"]:
            equal(f"{path}: rows of {kind}", rows.get(kind, 0), kinds[kind])
    arrows = sum(seen[ph, cat] for ph in "sf" for cat in ARROWS)
    equal(f"{path}: arrows", sum(n for why, n in left.items() if why.startswith("arrows")), arrows)
    # a range is two rows, and a flow is one of two events
    whole = sum(kinds.values()) if not seen["X", "Operator"] else sum(kinds.values()) + rows["cpu_op"]
    named = sums["records kept"] - whole - rows.get("nvtx", 0) // 2 - rows.get("memory", 0) - 2 * rows.get("flow", 0)
    spans = min(1, seen["X", "Trace"])
    if not spans <= named <= spans + sum(seen["M", cat] for ph, cat in seen if ph == "M"):
        sys.exit(f"{path}: {named} records are kept that are neither rows nor names")


def check_sqlite(path):
    sums, rows, _ = imported(path, os.path.join(folder, "t.wtrace"))
    db = sqlite3.connect(f"file:{path}?immutable=1", uri=True)
    tables = [name for name, in db.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0")]
    total = 0
    kinds = collections.Counter()

    for table in tables:
        columns = {row[1] for row in db.execute(f'PRAGMA table_info("{table}")')}
        count, = db.execute(f'SELECT count(*) FROM "{table}"').fetchone()
        kinds[TABLES.get(table, "")] += count
        if columns & {"start", "timestamp"} or table in NAMED or table.startswith("WARPSHEET_"):
            total += count
        if table == "TARGET_INFO_SESSION_START_TIME":
            total += min(1, count)
    db.close()
    equal(f"{path}: records read", sums["records read"], total)
    for kind in set(TABLES.values()):
        equal(f"{path}: rows of {kind}", rows.get(kind, 0), kinds[kind])


def same_tables(path, name, whole, *tables):
    """The same events, said in another way, make the same tables."""
    made = os.path.join(folder, name + ".json")
    with open(made, "w", encoding="utf-8") as f:
        json.dump(whole, f)
    for table in tables:
        got, want = (run("report", file, "--table", table, "--format", "csv").stdout for file in (made, path))
        equal(f"{path}: {table} by {name}", got, want)
    return made


def check_halves(path):
    """Each event of the host as a begin and an end, as programs write them: the same report."""
    whole = read_json(path)
    rows, others, halves = collections.defaultdict(list), [], []
    for e in whole["traceEvents"]:
        split = e["ph"] == "X" and e.get("cat") in ("cpu_op", "cuda_runtime", "user_annotation")  # these nest
        (rows[e["pid"], e["tid"]] if split else others).append(e)
    for row in rows.values():
        still_open = []

        def close(until):
            while still_open and still_open[-1][0] <= until:
                end, e = still_open.pop()
                halves.append({"ph": "E", "pid": e["pid"], "tid": e["tid"], "ts": end / 1000})

        for e in sorted(row, key=lambda e: (round(e["ts"] * 1000), -round(e["dur"] * 1000))):
            start = round(e["ts"] * 1000)
            close(start)
            halves.append({key: value for key, value in e.items() if key != "dur"} | {"ph": "B", "ts": start / 1000})
            still_open.append((start + round(e["dur"] * 1000), e))
        close(float("inf"))
    whole["traceEvents"] = others + halves
    made = same_tables(path, "begins and ends", whole, "kernel-summary", "ops", "api-summary", "classes")
    _, _, left = imported(made, os.path.join(folder, "t.wtrace"))
    unpaired = sum(n for why, n in left.items() if why.startswith(("begins", "ends")))
    if not halves or unpaired:
        sys.exit(f"{path}: of {len(halves)} halves {unpaired} have no other")


def check_links(path):
    """Without correlation ids, as ROCm's profiler writes: arrows say the same, External ids the operation."""
    whole = read_json(path)
    for e in whole["traceEvents"]:
        if e["ph"] == "X" and e.get("cat") in ("cuda_runtime", "cuda_driver", "kernel", "gpu_memcpy", "gpu_memset"):
            e["args"].pop("correlation")
    same_tables(path, "arrows", whole, "kernel-summary", "ops", "launch-latency", "classes")
    whole["traceEvents"] = [e for e in whole["traceEvents"] if e.get("cat") not in ARROWS]
    same_tables(path, "External ids", whole, "ops")


def check_ranks():
    """Ranks in a folder of several kinds of file: each is the rank that it names, whatever its place and name."""
    ranks = os.path.join(folder, "ranks")
    os.mkdir(ranks)
    for rank, name in enumerate(("c.json", "a.json.gz", "b.json")):
        events = [{"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{i}", "pid": 1, "tid": 1,
                   "ts": 1000 * i, "dur": 900} for i in range(3)]
        for i in range(3):
            events += [{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1,
                        "ts": 1000 * i + 10, "dur": 5, "args": {"correlation": i + 1}},
                       {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "pid": 0,
                        "tid": 7, "ts": 1000 * i + 100 + 50 * rank, "dur": 400 - 50 * rank,
                        "args": {"correlation": i + 1, "device": 0, "stream": 7}}]
        whole = {"schemaVersion": 1, "distributedInfo": {"rank": rank, "world_size": 3}, "traceEvents": events}
        with (gzip.open if name.endswith("gz") else open)(os.path.join(ranks, name), "wt", encoding="utf-8") as f:
            json.dump(whole, f)
    run("import", os.path.join(ranks, "b.json"), "-o", os.path.join(ranks, "b.wtrace"))
    table = run("report", ranks, "--table", "ranks", "--format", "csv").stdout
    found = {row["Rank"]: os.path.basename(row["Trace"]) for row in csv.DictReader(table.splitlines())}
    equal("ranks of a folder", found, {"0": "c.json", "1": "a.json.gz", "2": "b.wtrace"})


exported = os.path.join(folder, "exported.sqlite")
for file in files:
    if not file.endswith((".sqlite", ".wtrace")):
        check_json(file)
    if file.endswith(".sqlite"):
        check_sqlite(file)
    elif os.path.getsize(file) < 200000:
        run("export", file, "-o", exported)
        check_sqlite(exported)
        os.unlink(exported)
check_halves(f"{sources}/fixtures/imports/bert-small-h100.json.gz")
check_links(f"{sources}/fixtures/imports/bert-small-h100.json.gz")
check_ranks()
print(f"{len(files)} files")
if not os.path.isdir(data):
    print(f"[SKIP] no {data}: only the fixtures were read")
