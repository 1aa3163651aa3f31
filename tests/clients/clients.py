"""Other people's programs, given a profile and our export of it: what each computes must be the same.

clients.py WARPSHEET SOURCES [--update]

Run by `run/check clients`, in an environment that has the clients. FIGURES (figures.json) are what TensorBoard's
plugin computed from the originals; without it they are held against our own tables (clients.py --figures). A client
that is not installed is left out, and told. A difference is a failure, unless a mend of the original makes it vanish:
MENDS are what the files of some generations have otherwise than today's PyTorch and our exports, each with its reason.
"""
import collections
import contextlib
import csv
import decimal
import gzip
import importlib.util
import io
import json
import logging
import math
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import warnings

# ten profiles of five GPUs, those of other projects in ../shared/data
TRACES = ("fixtures/imports/bert-small-h100", "fixtures/imports/alexnet-a100", "fixtures/imports/event-sync-a100",
          "../shared/data/kineto/resnet50_w0_v100.pt.trace", "../shared/data/kineto/ddp_resnet_rank0_v100",
          "../shared/data/kineto/hta_negqueue_a100", "../shared/data/kineto/deepseek_v3_train_h800",
          "../shared/data/kineto/timesformer_h100", "../shared/data/kineto/ddp_resnet18_mi300",
          "../shared/data/kineto/vllm_gptoss_decode_mi300")
# and of a client of Nsight's schema
DATABASES = ("../shared/data/nsys/h100_2gpu_1s_emit_nvtx", "../shared/data/nsys/openmp_t4_step4")

warpsheet, sources = sys.argv[1:3]
scratch = tempfile.TemporaryDirectory()
folder = scratch.name
page = os.path.join(sources, "docs/reference/export.md")
BEGIN, END = "<!-- begin clients -->\n", "<!-- end clients -->\n"
figures_path = os.path.join(sources, "tests/clients/figures.json")


def run(*arguments):
    done = subprocess.run((warpsheet,) + arguments, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        sys.exit(f"warpsheet {' '.join(arguments)}: exit {done.returncode}\n{done.stderr}")
    return done.stdout


def table(path, name, *options):
    return list(csv.DictReader(io.StringIO(run("report", path, "--table", name, "--format", "csv", *options))))


# --- the clients: each a dictionary of figures of a file ---

def hta(path):
    """HolisticTraceAnalysis: idle time, breakdown by kind of work, time by kernel, overlap, launches."""
    from hta.trace_analysis import TraceAnalysis
    t = TraceAnalysis(trace_files={0: path}, trace_dir="")
    found = {}
    row = t.get_temporal_breakdown(visualize=False).iloc[0]
    for column in row.index:
        if column != "rank":
            found[f"temporal {column}"] = float(row[column])
    kinds, kernels = t.get_gpu_kernel_breakdown(visualize=False, num_kernels=10)
    for _, row in kinds.iterrows():
        found[f"kind {row['kernel_type']}"] = float(row["sum"])
    for _, row in kernels.iterrows():
        found[f"kernel {row['name']} sum"] = float(row["sum (us)"])
    found["overlap"] = float(t.get_comm_comp_overlap(visualize=False).iloc[0]["comp_comm_overlap_pctg"])
    return found


def tensorboard(path):
    """PyTorch's plugin for TensorBoard: cost of steps, device time per operation, kernels, memory."""
    from torch_tb_profiler.profiler import trace
    from torch_tb_profiler.profiler.data import RunProfileData
    # its last release knows calls by their name of 2022 only; its source has had this since
    trace.EventTypeMap.setdefault("cuda_runtime", trace.EventTypes.RUNTIME)
    trace.EventTypeMap.setdefault("cuda_driver", trace.EventTypes.RUNTIME)
    folder_of_run = os.path.join(folder, "tensorboard")
    shutil.rmtree(folder_of_run, ignore_errors=True)
    os.mkdir(folder_of_run)
    copy = os.path.join(folder_of_run, "worker.pt.trace.json" + (".gz" if path.endswith(".gz") else ""))
    shutil.copy(path, copy)
    data = RunProfileData.parse("worker", "span", copy, folder_of_run)
    found = {"steps": len(data.steps_costs)}
    for name, cost in zip(("Total", "Kernel", "Memcpy", "Memset", "Communication", "Runtime", "DataLoader", "CPU Exec", "Other"),
                          [data.avg_costs.costs[i] for i in (8, 0, 1, 2, 3, 4, 5, 6, 7)]):
        found[f"step {name}"] = float(cost)
    for op in data.op_list_groupby_name:
        found[f"operation {op.name} calls"] = op.calls
        found[f"operation {op.name} device"] = float(op.device_duration)
        found[f"operation {op.name} self device"] = float(op.self_device_duration)
    if data.kernel_stat is not None:
        for name, row in data.kernel_stat.iterrows():
            found[f"kernel {name} count"] = int(row["count"])
            found[f"kernel {name} sum"] = float(row["sum"])
        found["all kernels count"] = int(data.kernel_stat["count"].sum())
        found["all kernels sum"] = float(data.kernel_stat["sum"].sum())
    return found


def trace_processor(path):
    """Perfetto's query engine: slices by category, and its own count of errors in the file."""
    from perfetto.trace_processor import TraceProcessor
    found = {}
    with TraceProcessor(trace=path) as tp:
        for row in tp.query("select category, count(*) as n, sum(dur) as dur from slice where category in ('kernel', "
                            "'cpu_op', 'cuda_runtime', 'gpu_memcpy', 'gpu_memset') group by category"):
            found[f"{row.category} count"] = row.n
            found[f"{row.category} dur"] = row.dur
    return found


def numbers_in(value, name, found):
    """Every number of nested rows, by its path."""
    if isinstance(value, dict):
        for key, inner in value.items():
            numbers_in(inner, f"{name} {key}", found)
    elif isinstance(value, (list, tuple)):
        for i, inner in enumerate(value):
            numbers_in(inner, f"{name} {i}", found)
    elif isinstance(value, (int, float)):
        found[name] = float(value)


def nsys_ai(path):
    """nsys-ai: every number of all its analyses of a database. The list of tables is no figure: ours has more."""
    from nsys_ai.skills.registry import list_skills, run_skill
    found = {}
    # as each analysis may write into it
    copy = os.path.join(folder, "nsys-ai.sqlite")
    shutil.copyfile(path, copy)
    with contextlib.closing(sqlite3.connect(copy)) as db:
        for skill in list_skills():
            if skill == "schema_inspect":
                continue
            try:
                numbers_in(run_skill(skill, db, raw=True), skill, found)
            except Exception as e:  # an analysis that wants an argument, or another program
                found[f"{skill} {type(e).__name__}"] = 1.0
    return found


CLIENTS = {"hta": (hta, "hta"), "tensorboard": (tensorboard, "torch_tb_profiler"),
           "trace_processor": (trace_processor, "perfetto"), "nsys-ai": (nsys_ai, "nsys_ai")}


def tables_agree(path, readers, problems):
    """Readers of Parquet and workbooks add up what our report says: pandas, polars, pyarrow, openpyxl."""
    wanted = sum(int(row["Total Time (ns)"]) for row in table(path, "kernel-summary", "--scope", "all"))
    out = os.path.join(folder, "p.parquet")
    run("export", path, "-o", out, "--format", "parquet")
    parquet = next(os.path.join(top, "kernels.parquet") for top, _, names in os.walk(out) if "kernels.parquet" in names)
    sums = {}
    if has("pandas") and has("pyarrow"):
        import pandas
        sums["pandas"] = int(pandas.read_parquet(parquet)["dur_ns"].sum())
    if has("pyarrow"):
        import pyarrow.compute
        import pyarrow.parquet
        sums["pyarrow"] = pyarrow.compute.sum(pyarrow.parquet.ParquetFile(parquet).read()["dur_ns"]).as_py()
    if has("polars"):
        import polars
        sums["polars"] = int(polars.read_parquet(parquet)["dur_ns"].sum())
    if has("openpyxl"):
        for form in ("xlsx", "json"):
            run("report", path, "-o", os.path.join(folder, "b." + form), "--scope", "all")
        done = subprocess.run((sys.executable, os.path.join(sources, "tests/workbooks/check_openpyxl.py"), os.path.join(folder, "b.xlsx"),
                               os.path.join(folder, "b.json")), capture_output=True, text=True, check=False)
        readers.add("openpyxl (every number, its format, frozen heads)")
        if done.returncode:
            problems.append(f"openpyxl: {path}: {done.stdout[-500:]}{done.stderr[-500:]}")
    for name, value in sums.items():
        readers.add(f"{name} (kernel time)")
        if value != wanted:
            problems.append(f"{name}: {path}: kernels of {value} ns, the report says {wanted}")
    shutil.rmtree(out)


def native_agrees(problems):
    """A recording of our own in PyTorch's tools, beside our tables: steps, kernels, and an operation for each."""
    path = os.path.join(sources, "fixtures/traces/step-fp32.wtrace")
    exported = os.path.join(folder, "native.json")
    run("export", path, "-o", exported)
    rows = table(path, "kernel-summary", "--scope", "all")
    steps = [row for row in table(path, "steps") if row["Warm-up"] == "no"]
    ours = {"all kernels sum": sum(int(row["Total Time (ns)"]) for row in rows) / 1000,
            "all kernels count": sum(int(row["Instances"]) for row in rows), "steps": len(steps)}
    theirs = figures_of(tensorboard, exported)
    theirs["of operations"] = sum(value for name, value in theirs.items()
                                  if name.startswith("operation ") and name.endswith(" self device"))
    ours["of operations"] = ours["all kernels sum"]
    for name, value in ours.items():
        if not same(theirs.get(name, 0), value):
            problems.append(f"tensorboard: native: {name}: {theirs.get(name)}, our tables say {value}")
    return len(ours)


def has(module):
    return importlib.util.find_spec(module) is not None


def has_shell():
    from perfetto.trace_processor import TraceProcessor
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            TraceProcessor(trace=os.path.join(sources, TRACES[2] + ".json.gz")).close()
    except Exception:  # of the network, of curl, of the machine
        return False
    return True


# --- what files of some generations have otherwise; each mend says how many events it changed ---

def mend_times(events):
    """A double has quarters of a microsecond for times since 1970: count from the first whole one, exactly."""
    times = [event["ts"] for event in events if "ts" in event and event.get("ph") != "M"]
    if not times or min(times) < 2 ** 43 or all(float(time) == time for time in times):
        return 0
    begin = int(min(times))
    for event in events:
        if "ts" in event:
            event["ts"] -= begin
    return len(times)


def mend_waits(events):
    """Waits on no stream: -1."""
    waits = [event for event in events if event.get("args", {}).get("stream") == 4294967295]
    for event in waits:
        event["args"]["stream"] = -1
    return len(waits)


def mend_annotations(events):
    """The operations of 2021 that are annotations: as our importer tells them (docs/reference/import.md)."""
    found = [event for event in events if event.get("cat") == "Operator" and "::" not in event["name"] and
             not {"Input Dims", "Sequence number"} & set(event.get("args", {}))]
    for event in found:
        event["cat"] = "user_annotation"
    return len(found)


def mend_external_ids(events):
    """An External id that repeats the correlation id: for calls that of the innermost operation around, else none."""
    of_thread = collections.defaultdict(list)
    found = []
    for event in events:
        arguments = event.get("args", {})
        if event.get("cat") in ("cpu_op", "cuda_runtime", "cuda_driver") and event.get("ph") == "X":
            of_thread[event["pid"], event["tid"]].append(event)
        if event.get("cat") != "cpu_op" and arguments.get("External id") and \
                arguments["External id"] == arguments.get("correlation"):
            arguments["External id"] = 0
            found.append(event)
    changed = {id(event) for event in found}
    for thread in of_thread.values():
        thread.sort(key=lambda event: (event["ts"], -event["dur"]))
        around = []
        for event in thread:
            while around and around[-1]["ts"] + around[-1]["dur"] <= event["ts"]:
                around.pop()
            if event["cat"] == "cpu_op":
                around.append(event)
            elif id(event) in changed and around:
                event["args"]["External id"] = around[-1]["args"].get("External id", 0)
    return len(found)


MENDS = ((mend_times, "times since 1970 with fractions, which a double rounds to quarters of a microsecond; ours are exact"),
         (mend_waits, "waits on stream 4294967295, which HTA takes for work; today's PyTorch and we write -1"),
         (mend_annotations, "annotations that are operations, loading of data among them; exports have annotations, as PyTorch has since"),
         (mend_external_ids, "External ids that repeat correlation ids, which the plugin takes for operations of that number"))


def mend_payload_schemas(db):
    """Our exports keep them in tables of their own (docs/reference/export.md, 4)."""
    for name in ("NVTX_PAYLOAD_SCHEMAS", "NVTX_PAYLOAD_SCHEMA_ENTRIES"):
        db.execute(f"drop table if exists {name}")


def mend_overhead(db):
    """Later schemas have a table of CUPTI's for it."""
    columns = {name: [row[1] for row in db.execute(f"pragma table_info({name})")]
               for name in ("PROFILER_OVERHEAD", "CUPTI_ACTIVITY_KIND_OVERHEAD")}
    into, source = columns["PROFILER_OVERHEAD"], columns["CUPTI_ACTIVITY_KIND_OVERHEAD"]
    if into and source:
        values = ", ".join(name if name in source else "0" for name in into)
        db.execute(f"insert into PROFILER_OVERHEAD select {values} from CUPTI_ACTIVITY_KIND_OVERHEAD")


DATABASE_MENDS = ((mend_payload_schemas, "tables of payload schemas, which our exports keep in tables of their own"),
                  (mend_overhead, "overhead in a table of later schemas, which nsys-ai does not read; ours is where it does"))


def explain_database(path, left, ours):
    why = {}
    mended = os.path.join(folder, "mended.sqlite")
    shutil.copyfile(path, mended)
    for mend, reason in DATABASE_MENDS:
        if not left:
            break
        with contextlib.closing(sqlite3.connect(mended)) as db:
            mend(db)
            db.commit()
        theirs = figures_of(nsys_ai, mended)
        now = {name for name in left if same(theirs.get(name, 0), ours.get(name, 0))}
        why.update(dict.fromkeys(now, reason))
        left = left - now
    return why


def explain(function, path, original, ours):
    """Of figures that differ, the reason: the mend of the original after which the client computes ours, too."""
    left = {name for name in set(original) | set(ours) if not same(original.get(name, 0), ours.get(name, 0))}
    why = {}
    if not left:
        return why
    if path.endswith(".sqlite"):
        return explain_database(path, left, ours)
    with gzip.open(path) as f:
        content = json.loads(f.read(), parse_float=decimal.Decimal)
    mended = os.path.join(folder, "mended.json")
    for mend, reason in MENDS:
        if not left or not mend(content["traceEvents"]):
            continue
        with open(mended, "w", encoding="utf-8") as f:
            json.dump(content, f, default=float)
        theirs = figures_of(function, mended)
        now = {name for name in left if same(theirs.get(name, 0), ours.get(name, 0))}
        why.update(dict.fromkeys(now, reason))
        left -= now
    return why


# --- comparing ---

def same(a, b):
    """Equal to what a file in whole microseconds, and a client that rounds, can tell."""
    if isinstance(a, float) and isinstance(b, float) and math.isnan(a) and math.isnan(b):
        return True
    return abs(a - b) <= max(0.02, 1e-4 * max(abs(a), abs(b)))


def compare(client, trace, original, ours, explained):
    for name in sorted(set(original) | set(ours)):
        a, b = original.get(name, 0), ours.get(name, 0)
        if not same(a, b):
            yield explained.get(name), f"{client}: {trace}: {name[:100]}: {a} of the original, {b} of the export"


def figures_of(function, path):
    quiet = io.StringIO()
    with contextlib.redirect_stdout(quiet), contextlib.redirect_stderr(quiet), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(path)


def compare_with_tables(known, traces):
    """Figures of TensorBoard's plugin, noted once, against our own tables of the same file. No client is needed."""
    problems, held = [], 0
    for trace, figures in known.items():
        path = os.path.join(sources, trace + ".json.gz")
        if path not in traces:
            print(f"[SKIP] {trace} is not here")
            continue
        rows = table(path, "kernel-summary", "--scope", "all")
        ours = {"all kernels sum": sum(int(row["Total Time (ns)"]) for row in rows) / 1000,
                "all kernels count": sum(int(row["Instances"]) for row in rows)}
        for name, value in ours.items():
            held += 1
            if not same(figures[name], value):
                problems.append(f"{trace}: {name}: {figures[name]} in TensorBoard's plugin, {value} here")
    return problems, held


def main():
    logging.disable(logging.CRITICAL)
    update = "--update" in sys.argv
    traces = [os.path.join(sources, name + ".json.gz") for name in TRACES]
    traces = [path for path in traces if os.path.exists(path)]
    databases = [os.path.join(sources, name + ".sqlite") for name in DATABASES]
    databases = [path for path in databases if os.path.exists(path)]
    with open(figures_path, encoding="utf-8") as f:
        known = json.load(f)
    if "--figures" in sys.argv:
        problems, held = compare_with_tables(known, traces)
        print("\n".join(problems) or f"{held} figures: our tables have what the clients found")
        sys.exit(1 if problems or not held else 0)
    rows, problems, new, reasons = [], [], {}, collections.Counter()
    for client, (function, module) in CLIENTS.items():
        if not has(module):
            print(f"[SKIP] {client}: {module} is not installed")
            continue
        if client == "trace_processor" and not has_shell():
            print(f"[SKIP] {client}: its program, which the package loads when it is used, cannot be had here")
            continue
        equal = named = 0
        refused = []
        files = databases if client == "nsys-ai" else traces
        for path in files:
            exported = os.path.join(folder, "ours" + (".sqlite" if client == "nsys-ai" else ".json"))
            run("export", path, "-o", exported)
            trace = os.path.relpath(path, sources).removesuffix(".json.gz")
            try:
                original = figures_of(function, path)
            except Exception as e:  # the original is not ours to mend
                refused.append(f"{os.path.basename(trace)} ({type(e).__name__})")
                continue
            if client == "tensorboard":
                new[trace] = {name: value for name, value in original.items() if name.startswith("all kernels ")}
            try:
                ours = figures_of(function, exported)
            except Exception as e:
                problems.append(f"{client}: {trace}: refuses the export: {type(e).__name__}: {str(e)[:200]}")
                continue
            differences = list(compare(client, trace, original, ours, explain(function, path, original, ours)))
            named += sum(why is not None for why, _ in differences)
            for why, _ in differences:
                if why:
                    reasons[why, os.path.basename(trace), client] += 1
            problems += [text for why, text in differences if why is None]
            equal += len(original) - len(differences)
        rows.append(f"| {client} | {len(files) - len(refused)} | {equal} | {named} | {'; '.join(refused)} |")
    if has("torch_tb_profiler"):
        rows.append(f"| tensorboard, of a native recording beside our tables | 1 | {native_agrees(problems)} | 0 | |")
    readers = set()
    for module in ("pandas", "pyarrow", "polars", "openpyxl"):
        if not has(module):
            print(f"[SKIP] {module} is not installed")
    for path in traces:
        tables_agree(path, readers, problems)
    rows.append(f"| {', '.join(sorted(readers))} | {len(traces)} | all | 0 | |")
    shown = ("| client | profiles | figures that are equal | named differences | originals that it refuses |\n"
             "|---|---|---|---|---|\n" + "\n".join(rows) + "\n\n" +
             "".join(f"- {trace}, {n} of {client}: {why}.\n" for (why, trace, client), n in sorted(reasons.items())))
    print(shown)
    if update:
        with open(page, encoding="utf-8") as f:
            before, rest = f.read().split(BEGIN)
        with open(page, "w", encoding="utf-8") as f:
            f.write(before + BEGIN + shown + END + rest.split(END)[1])
        with open(figures_path, "w", encoding="utf-8") as f:
            json.dump(new, f, indent=1, sort_keys=True)
            f.write("\n")
    told = collections.Counter()
    for text in problems:
        group = " ".join(text.split()[:3])
        told[group] += 1
        if told[group] <= 3:
            print(text)
    for group, count in told.items():
        if count > 3:
            print(f"{group}: {count - 3} more")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
