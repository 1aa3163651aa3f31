"""Profiles of XLA. One model of a profile is written as protobuf and as Chrome JSON; both imports must make the rows that
the model says. Then damaged files, and a profile that JAX wrote.

xla.py WARPSHEET SOURCES
"""
import collections
import gzip
import json
import os
import random
import re
import subprocess
import sys
import tempfile

warpsheet, sources = sys.argv[1:]
scratch = tempfile.TemporaryDirectory()
folder = scratch.name
BASE_NS = 1_700_000_000_000_000_000  # the begin of the profile, by the clock of the host


# --- a writer of protobuf: numbers of fields with values; int, bytes (texts, messages), float is not needed ---

def varint(n):
    n &= (1 << 64) - 1
    out = bytearray()
    while n >= 0x80:
        out.append(n & 0x7f | 0x80)
        n >>= 7
    return bytes(out + bytes([n]))


def message(*fields):
    out = b""
    for number, value in fields:
        if isinstance(value, int):
            out += varint(number << 3) + varint(value)
        else:
            value = value.encode() if isinstance(value, str) else value
            out += varint(number << 3 | 2) + varint(len(value)) + value
    return out


def plane_message(number, plane):
    """Names of events and statistics are in tables; texts of statistics are references to names, as XLA writes them."""
    names, stats = {}, {}

    def id_of(table, name):
        return table.setdefault(name, len(table) + 1)

    def stat(name, value):
        field = (3, value) if isinstance(value, int) else (7, id_of(stats, value))
        return message((1, id_of(stats, name)), field)

    lines = b""
    for line_number, name, events in plane["lines"]:
        body = [(1, line_number), (2, name), (3, 1000)]
        for event, start_ns, dur_ns, facts in events:
            body.append((4, message((1, id_of(names, event)), (2, (start_ns - 1000) * 1000), (3, dur_ns * 1000),
                                    *((4, stat(*fact)) for fact in facts.items()))))
        lines += message((3, message(*body)))
    facts = [(6, stat(*fact)) for fact in plane.get("facts", {}).items()]
    tables = [(4, message((1, i), (2, message((1, i), (2, name), (3, b"\x0a" * 9))))) for name, i in names.items()]
    tables += [(5, message((1, i), (2, message((1, i), (2, name))))) for name, i in stats.items()]
    return message((1, number), (2, plane["name"])) + lines + message(*tables, *facts)


def write_protobuf(planes, path):
    with open(path, "wb") as f:
        f.write(message(*((1, plane_message(i, plane)) for i, plane in enumerate(planes))))


def write_json(planes, path):
    events = []
    for i, plane in enumerate(planes):
        if not plane["lines"]:
            continue
        events.append({"ph": "M", "pid": i, "name": "process_name", "args": {"name": plane["name"]}})
        for line, name, _ in plane["lines"]:
            events.append({"ph": "M", "pid": i, "tid": line, "name": "thread_name", "args": {"name": name}})
    for i, plane in enumerate(planes):
        for line, _, some in plane["lines"]:
            for name, start_ns, dur_ns, facts in some:
                events.append({"ph": "X", "pid": i, "tid": line, "name": name, "ts": start_ns / 1000,
                               "dur": dur_ns / 1000, "args": {k: str(v) for k, v in facts.items()}})
    with gzip.open(path, "wt") as f:
        json.dump({"displayTimeUnit": "ns", "traceEvents": events + [{}]}, f)


# --- the model: three steps of two products and an update on a GPU, and two operations of a TPU ---

def model():
    calls, kernels, ranges, copies = [], [], [], []
    names = (("jit(train)/jvp(Net)/dense/dot_general", "gemm_fusion_dot_1"),
             ("jit(train)/transpose(jvp(Net))/dense/dot_general", "gemm_fusion_dot_2"),
             ("jit(train)/sub", "loop_subtract_fusion"))
    for step in range(3):
        at = 10_000 + 100_000 * step
        ranges.append(("train", at, 90_000, {"step_num": step, "_r": 1}))
        ranges.append(("$train.py:12 main", at + 100, 89_000, {}))
        ranges.append(("$train.py:30 step", at + 200, 80_000, {}))
        ranges.append(("PjitFunction(train)", at + 1_000, 40_000, {}))
        for i, (path, kernel) in enumerate(names):
            facts = {"correlation_id": 100 * step + i + 1, "hlo_op": kernel.replace("_1", ".1"),
                     "hlo_module": "jit_train", "name": path}
            calls.append(("cuLaunchKernel", at + 2_000 + 5_000 * i, 3_000, facts))
            kernels.append((kernel, at + 10_000 + 20_000 * i, 15_000, facts | {"kernel_details":
                            "regs:40 static_shared:16 dynamic_shared:1024 grid:8,2,1 block:128,1,1 occ_pct:50"}))
        copies.append(("MemcpyD2H", at + 75_000, 2_000, {"correlation_id": 100 * step + 9, "memcpy_details":
                       "kind_src:device kind_dst:pinned size:4096 dest:0 async:1"}))
    pool = [("ThreadpoolListener::Record", 5_000, 0, {}), ("end: dot.3", 5_100, 10, {}),
            ("dot.3", 5_000, 100, {"hlo_op": "dot.3", "hlo_module": "jit_init"})]
    return [
        {"name": "/host:metadata", "lines": []},
        {"name": "/device:GPU:0", "facts": {"device_vendor": "Nvidia", "clock_rate": 1_980_000, "core_count": 132,
                                            "compute_cap_major": 9, "compute_cap_minor": 0},
         "lines": [(7, "Stream #7(compute)", kernels), (8, "Stream #8(d2h)", copies),
                   (100, "XLA Ops", [("dot.1", 20_000, 15_000, {})])]},
        {"name": "/device:TPU:1", "lines": [(1, "XLA Ops", [("while.1", 1_000, 9_000, {}), ("dot.4", 1_000, 4_000, {}),
                                                            ("dot.5", 6_000, 4_000, {})])]},
        {"name": "/host:CPU", "facts": {"process_id": 4242},
         "lines": [(70, "python", ranges + calls), (71, "tf_XLAEigen/71", pool)]},
        {"name": "Task Environment", "facts": {"profile_start_time": BASE_NS}, "lines": []},
    ]


def run(*arguments):
    return subprocess.run((warpsheet,) + arguments, capture_output=True, text=True, check=False)


def equal(what, got, want):
    if got != want:
        sys.exit(f"{what}: {got}\nnot {want}")


def query(path, sql):
    done = run("query", path, sql, "--format", "csv", "--scope", "all")
    if done.returncode:
        sys.exit(f"{path}: {done.stderr}")
    return [line.split(",") for line in done.stdout.splitlines()[1:] if line and not line.startswith("#")]


def check(path):
    """The rows of the model."""
    count = "SELECT count(*) AS n FROM "
    for kind, rows in (("kernel_record", 9 + 2), ("memcpy_record", 3), ("api_record", 9), ("python_call_record", 6),
                       ("cpu_op_record", 9 + 1), ("external_link_record", 9)):
        equal(f"{path}: {kind}", query(path, count + kind), [[str(rows)]])
    # a step is a step; the functions and modules around operations are ranges, from the first operation to the last
    want = [("PjitFunction(train)", 3), ("dense", 6), ("jit(init)", 1), ("jit(train)", 3), ("jvp(Net)", 3), ("step", 3),
            ("train", 3), ("transpose(jvp(Net))", 3)]
    got = query(path, "SELECT name, count(*) AS n FROM nvtx_record WHERE type = 'push' GROUP BY 1 ORDER BY 1")
    equal(f"{path}: ranges", got, [[name, str(n)] for name, n in want])
    equal(f"{path}: a launch", query(path, "SELECT grid_x, grid_y, block_x, registers, shared_static_bytes, "
                                     "shared_dynamic_bytes, stream FROM launch_config_record WHERE grid_x > 0 LIMIT 1"),
          [["8", "2", "128", "40", "16", "1024", "7"]])
    equal(f"{path}: a copy", query(path, "SELECT kind, src_kind, dst_kind, bytes, stream FROM memcpy_record LIMIT 1"),
          [["dtoh", "device", "pinned", "4096", "8"]])
    equal(f"{path}: times", query(path, "SELECT min(start_ns) AS a, sum(dur_ns) AS b FROM kernel_record"),
          [["1000", str(9 * 15_000 + 8_000)]])
    equal(f"{path}: the operation of a kernel, by its path and its class", query(
        path, "SELECT class, sum(instances) AS n FROM cell WHERE name LIKE 'gemm_fusion%' GROUP BY 1"), [["gemm", "6"]])


def damaged(path):
    """A file that is cut off or has wrong bytes is refused with its cure, or read; it never ends the program."""
    with open(path, "rb") as f:
        whole = f.read()
    hurt = os.path.join(folder, "hurt.xplane.pb")
    chance = random.Random(1)
    for i in range(60):
        copy = bytearray(whole)
        if i % 3 == 0:
            del copy[chance.randrange(40, len(copy)):]
        else:
            for _ in range(1 + i % 4):
                copy[chance.randrange(2, len(copy))] = chance.randrange(256)
        with open(hurt, "wb") as f:
            f.write(copy)
        done = run("check", hurt)
        if done.returncode not in (0, 1, 2, 3) or (done.returncode and not done.stderr and not done.stdout):
            sys.exit(f"damage {i}: exit {done.returncode}: {done.stderr}")


planes = model()
protobuf, packed, text = (os.path.join(folder, name) for name in ("a.xplane.pb", "b.xplane.pb.gz", "c.trace.json.gz"))
write_protobuf(planes, protobuf)
with open(protobuf, "rb") as source, gzip.open(packed, "wb") as target:
    target.write(source.read())
write_json(planes, text)
check(text)
lacks = "lacks libprotobuf-c" in run("check", protobuf).stderr
if lacks:
    print("not checked: *.xplane.pb, since this build has no libprotobuf-c")
else:
    check(protobuf)
    check(packed)
    # device and process are in the protobuf file alone
    equal("clock", query(protobuf, "SELECT value FROM device_attr_record WHERE value = 1980000000"), [["1980000000"]])
    equal("process", query(protobuf, "SELECT DISTINCT pid FROM thread_record"), [["4242"]])
    damaged(protobuf)

# the profiler writes one run up to three times into a folder: it is one
both_forms = os.path.join(folder, "profile")
os.mkdir(both_forms)
write_json(planes, os.path.join(both_forms, "host.trace.json.gz"))
write_json(planes, os.path.join(both_forms, "perfetto_trace.json.gz"))
equal("runs in a folder of JSON", run("report", both_forms).stderr.count("warpsheet: reading"), 1)
write_protobuf(planes, os.path.join(both_forms, "host.xplane.pb"))
said = run("report", both_forms).stderr
equal("runs in a folder of both", said.count("warpsheet: reading"), 1)
equal("the protobuf file is read", "host.xplane.pb' as XLA" in said, not lacks)
write_protobuf(planes, os.path.join(both_forms, "other.xplane.pb"))
equal("hosts in a folder", run("report", both_forms).stderr.count("warpsheet: reading"), 1 if lacks else 2)

jax = os.path.join(sources, "fixtures/recorded/jax/cpu")
both = [run("report", jax + ending, "--table", "ops", "--format", "csv") for ending in (".trace.json.gz", ".xplane.pb")]
equal("JAX: exit", [done.returncode for done in both], [0, 3 if lacks else 0])
with gzip.open(jax + ".trace.json.gz", "rt") as f:
    counts = collections.Counter(re.sub(r"^wrapped_|\.\d+$", "", e["args"]["hlo_op"]) for e in json.load(f)["traceEvents"]
                                 if "hlo_op" in e.get("args", {}) and not e["name"].startswith("end: "))
rows = [line.split(",") for line in both[0].stdout.splitlines()]
kind = rows[0].index("Kind")
equal("JAX: calls of operations", {row[0]: int(row[1]) for row in rows if row[kind] == "operation"}, dict(counts))
if not lacks:
    equal("JAX: operations by either file", both[1].stdout, both[0].stdout)
print("done")
