#!/usr/bin/env python3
"""Tables of reports beside SQL over the same traces, as `export` writes them for other tools:
oracle.py SCENARIO_TRACE TRACE...    exit status 77: no such file is here

joins.sql joins the rows of an export, TABLE.sql makes the table of them: its columns are named as
those of the table, which it need not have all, and its rows stand in the table's order. Whole numbers are
the same, others to a billionth. What names alone tell of kernels, classes and dtypes, is asked of the
product: a trace of nothing but these names. In each of these reports parts add up: sums.py.
"""
import json
import math
import os
import re
import sqlite3
import struct
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "scenarios"))
import scenario  # pylint: disable=wrong-import-position
import sums  # pylint: disable=wrong-import-position

HERE = os.path.dirname(os.path.abspath(__file__))


def text_of(name):
    with open(os.path.join(HERE, name), encoding="utf-8") as f:
        return f.read()


# --- functions that SQLite lacks -----------------------------------------------------------------

class Values:
    def __init__(self):
        self.values = []

    def step(self, value):
        if value is not None:
            self.values.append(value)


class Median(Values):
    def finalize(self):
        v, n = sorted(self.values), len(self.values)
        return (v[(n - 1) // 2] + v[n // 2]) / 2 if n else None


class Deviation(Values):
    """Of a sample; 0 of one value."""
    def finalize(self):
        n, v = len(self.values), self.values
        if n < 2:
            return 0 if n else None
        return math.sqrt((n * sum(x * x for x in v) - sum(v) ** 2) / (n * (n - 1)))


class Busy:
    """Time during which at least one of the spans was open: busy(start, end)."""
    def __init__(self):
        self.spans = []

    def step(self, start, end):
        self.spans.append((start, end))

    def finalize(self):
        busy, reach = 0, -math.inf
        for start, end in sorted(self.spans):
            busy += max(0, end - max(start, reach))
            reach = max(reach, end)
        return busy


class InOrder:
    """Different texts in the order of their numbers: in_order(number, text)."""
    def __init__(self):
        self.first = {}

    def step(self, number, text):
        if text is not None:
            self.first[text] = min(number, self.first.get(text, number))

    def finalize(self):
        return ", ".join(sorted(self.first, key=self.first.get)) or None


def steady(name):
    """Without what changes from call to call: of a batch of a server its sizes."""
    if re.match(r"step\[.* bs=|execute_.*context_.*generation_|execute_new_.*_cached_|(prefill|decode)\[bs=", name or "", re.S):
        return re.sub(r"\d+", lambda number: "0" if number[0] == "0" else "N", name)
    name = re.sub(r", (op_id|seq) = \d+|, (sizes|input_op_ids) = \[(?:[^][]|\[[^][]*\])*\]", "", name or "")
    return re.sub(r"0x[0-9a-fA-F]+", "0x*", re.sub(r"#\d+", "#*", name))


# --- what an export says in bytes ------------------------------------------------------------------

NUMBERS = {5: "i", 6: "I", 9: "q", 10: "Q", 15: "i", 16: "I", 17: "q", 18: "Q"}
OF_SIZE = {1: "B", 2: "H", 4: "I", 8: "Q"}


def operations(db):
    """Rows (event, kind, direction, dtype, flops, bytes) of the annotated ones."""
    texts = dict(db.execute("SELECT id, value FROM StringIds"))
    entries, fields = {}, {}
    for enum, size, entry, value in db.execute("SELECT id, size_bytes, entry, value FROM WARPSHEET_payload_enum"):
        entries.setdefault(enum, (OF_SIZE[size], {}))[1][value] = texts[entry]
    for schema, name, form, offset in db.execute("SELECT schema, name, type, offset_bytes FROM WARPSHEET_payload_field"):
        fields.setdefault(schema, {})[texts[name]] = form, offset
    for event, schema, data in db.execute("""SELECT eventId, schema, bytes FROM WARPSHEET_nvtx_payload
                                             JOIN WARPSHEET_payload p ON p.id = payload"""):
        has = fields.get(schema, {})
        if "flops" not in has and not ("op" in has and has["op"][0] in entries):
            continue

        def number(name):
            if name not in has:
                return None
            form, offset = has[name]
            n = struct.unpack_from("<" + (NUMBERS.get(form) or entries[form][0]), data, offset)[0]
            return n if 0 <= n < 2**63 else None

        def entry(name):
            text = entries[has[name][0]][1].get(number(name)) if name in has else None
            return None if text == "none" else text

        read, written = number("bytes_read"), number("bytes_written")
        yield (event, entry("op"), entry("direction"), entry("dtype"), number("flops"),
               number("bytes") if read is None or written is None else read + written)


# --- the tables ----------------------------------------------------------------------------------

def open_export(program, trace, folder):
    path = os.path.join(folder, "trace.sqlite")
    program.run("export", trace, "-o", path).check_returncode()
    db = sqlite3.connect(path)
    db.create_function("steady", 1, steady, deterministic=True)
    db.create_function("regexp", 2, lambda pattern, text: re.search(pattern, text or "") is not None)
    for name, function in ("median", Median), ("deviation", Deviation):
        db.create_aggregate(name, 1, function)
    db.create_aggregate("busy", 2, Busy)
    db.create_aggregate("in_order", 2, InOrder)
    db.executescript(text_of("absent.sql"))
    db.executemany("INSERT INTO operation VALUES (?, ?, ?, ?, ?, ?)", list(operations(db)))
    names = [n for n, in db.execute("SELECT DISTINCT value FROM CUPTI_ACTIVITY_KIND_KERNEL JOIN StringIds s"
                                    " ON s.id = demangledName")]
    if names:
        path = os.path.join(folder, "names.wtrace")
        program.write_trace("".join(f"kernel {scenario.quoted(n)} 0 1\n" for n in names), path)
        columns = ["name", "class_by_name", "direction", "dtype", "tensor"]
        rows, _ = scenario.cut(scenario.Trace(program, {"a": path}).table("kernel-summary"), columns)
        db.executemany("INSERT INTO kernel_name VALUES (?, ?, ?, ?, ?)", rows)
    load_kinds(db)
    if "rangeId" not in [row[1] for row in db.execute("PRAGMA table_info(NVTX_EVENTS)")]:
        db.execute("ALTER TABLE NVTX_EVENTS ADD COLUMN rangeId")
    db.executescript(text_of("joins.sql"))
    return db


def load_kinds(db):
    """What the framework's operations are, in words."""
    for number, kind, direction, dtype, cost, flops, size in db.execute(
            "SELECT id, kind, direction, dtype, cost, flops, bytes_read + bytes_written FROM WARPSHEET_op_config").fetchall():
        db.execute("INSERT INTO op_config VALUES (?, ?, ?, ?, ?, ?)", (
            number, KINDS[kind], DIRECTIONS[direction], DTYPES[dtype], flops if cost else None,
            size if cost == 2 else None))


def is_same(a, b):
    if isinstance(a, str):
        a = a.replace("\0", "\ufffd")  # what an export writes for what readers stop at
    if isinstance(a, float) or isinstance(b, float):
        return a is not None and b is not None and math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9)
    return a == b


def compare(db, query, table):
    """Why the table is not what SQL makes; None."""
    cursor = db.execute(text_of(query + ".sql"))
    columns = [d[0] for d in cursor.description]
    expected = cursor.fetchall()
    rows, _ = scenario.cut(table, columns)
    if len(rows) != len(expected):
        return f"{len(rows)} rows, SQL makes {len(expected)}"
    for i, (row, want) in enumerate(zip(rows, expected)):
        for column, a, b in zip(columns, row, want):
            if not is_same(a, b):
                return f"row {i}, {column}: {a!r}, SQL makes {b!r}\n  {row}\n  {list(want)}"
    return None


# --- what reports are of ---------------------------------------------------------------------------

def overlap(what, first, end):
    return (f"{what}.start < first + {end} AND ({what}.end > first + {first} OR "
            f"({what}.end = {what}.start AND {what}.end = first + {first}))")


LAUNCHED = "c.id IN (SELECT call FROM chosen_work)"
MEASURED = "is_measured AND number BETWEEN 1 AND 2"
OF_KERNELS = ["kernel-trace", "kernel-summary", "kernel-launches", "classes", "launch-latency", "memory-time",
              "memory-size"]
# options, conditions on device work, calls and ranges, tables: none = all
REPORTS = [
    ("", "1", "1", "1", []),
    *((f"--scope {scope}", f"scope = '{scope}'", f"scope = '{scope}'", f"scope = '{scope}'", [])
      for scope in ("steps", "warm-up", "setup", "outside")),
    ("--kernel gemm|elementwise", "k.name REGEXP 'gemm|elementwise'", LAUNCHED, "1", [*OF_KERNELS, "api-summary"]),
    ("--device 0", "w.device = 0", LAUNCHED, "1", [*OF_KERNELS, "api-summary", "gpu"]),
    ("--steps 1..2", MEASURED, MEASURED, MEASURED, [*OF_KERNELS, "api-summary", "range-kernels"]),
    ("--time 700..900000", overlap("w", 700, 900000), overlap("c", 700, 900000), overlap("r", 700, 900000),
     [*OF_KERNELS, "api-summary", "range-kernels"]),
    ("--nvtx forward", "w.id IN (SELECT work FROM around JOIN inside ON id = range)", "1", "1", OF_KERNELS),
]
KINDS = [None, "gemm", "conv", "attention", "softmax", "scale", "mask", "norm", "activation", "elementwise", "rope",
         "embedding", "loss", "optimizer", "reduce", "copy", "cast", "pool", "rng", "fill"]
DIRECTIONS = [None, "forward", "backward"]
DTYPES = [None, "fp32", "tf32", "fp16", "bf16", "fp64", "int8", "int32", "int64", "fp8", "bool8"]
QUERIES = sorted(n[:-4] for n in os.listdir(HERE) if n.endswith(".sql")
                 and n not in ("absent.sql", "joins.sql", "selected.sql"))


def wrongs(program, trace):
    """Yields what of the trace's tables is not what SQL makes of it."""
    compared = 0
    with tempfile.TemporaryDirectory() as folder:
        db = open_export(program, trace, folder)
        report = scenario.Trace(program, {"a": trace})
        phases_are_ranges = not db.execute("SELECT count(*) FROM op").fetchone()[0]
        in_steps = db.execute("SELECT count(*) FROM part WHERE sort = 'work' AND scope = 'steps'").fetchone()[0]
        for options, work, call, ranges, tables in REPORTS:
            if options == "--scope steps" and not in_steps:
                work = call = ranges = "1"  # all of the trace
            db.executescript(text_of("selected.sql").format(work=work, call=call, range=ranges))
            for query in QUERIES:
                table, _, only = query.partition(".")
                if (tables and table not in tables or only and not phases_are_ranges
                        or table.startswith("step") and options):
                    continue
                try:
                    why = compare(db, query, report.one_of_all(table, options))
                    compared += 1
                except scenario.Wrong as wrong:
                    nothing = not db.execute("SELECT count(*) FROM chosen_work").fetchone()[0]
                    why = None if nothing else str(wrong)
                if why:
                    yield f"{table} {options}: {why}"
        for known, tables in report.known.items():
            if known[0] == "all":
                yield from (f"{known[1]}: {why}" for why in sums.wrongs(tables))
    if not compared:
        yield "no table was compared"


def main():
    program, *traces = sys.argv[1:]
    program = scenario.Program(program)
    here = [t for t in traces if os.path.exists(t)]
    if not here:
        print("SKIP: none of these traces is here")
        sys.exit(77)
    wrong = 0
    for trace in here:
        for why in wrongs(program, trace):
            wrong += 1
            print(f"{trace}: {why}")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
