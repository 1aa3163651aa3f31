"""A file, imported, exported in its own format, and imported once more: what is the same, and what is lost.

round_trips.py WARPSHEET SOURCES: compares with the table in docs/reference/export.md; UPDATE_DOCS=1 writes it.
"""
import collections
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

BEGIN, END = "<!-- begin round trips -->\n", "<!-- end round trips -->\n"
FORMS = {"json": "PyTorch JSON → trace → JSON → trace", "sqlite": "Nsight SQLite → trace → SQLite → trace"}
# of all fields that differ, why; another one is a fault
REASONS = {("meta", "import.format"): "`import.format`: it says what the last file was"}
# columns that say the same once more, or are numbers of the trace's own
DERIVED = ("id",)

warpsheet, sources = sys.argv[1:]
scratch = tempfile.TemporaryDirectory()
folder = scratch.name


def run(*arguments):
    done = subprocess.run((warpsheet,) + arguments, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"warpsheet {' '.join(arguments)}: exit {done.returncode}\n{done.stderr}")
    return done


class Trace:
    """Rows of all kinds, with texts, threads and configurations in the place of their numbers."""

    def __init__(self, path):
        kinds = re.findall(r"^(\w+)_record,", run("query", path, "--format", "csv").stdout, re.MULTILINE)
        asked = "".join(f"SELECT * FROM {kind}_record;\n" for kind in kinds if kind != "string")
        with open(os.path.join(folder, "records.sql"), "w", encoding="utf-8") as f:
            f.write(asked + "SELECT :base_ns AS base;")
        made = json.loads(run("query", path, "--sql", f.name, "--format", "json").stdout)
        *tables, base = made["tables"].values()
        self.base, self.rows = base["rows"][0][0], {}
        for kind, table in zip((kind for kind in kinds if kind != "string"), tables):
            columns = [column["title"] for column in table["columns"]]
            self.rows[kind] = [{c: "" if v is None else str(v) for c, v in zip(columns, row)} for row in table["rows"]]
        # of rows of one number the last one counts
        keys = {"thread": ("id",), "device": ("id",), "process": ("pid",), "launch_config": ("id",),
                "op_config": ("id",), "device_attr": ("device", "attr"), "meta": ("key",)}
        for kind, key in keys.items():
            self.rows[kind] = list({tuple(row[k] for k in key): row for row in self.rows.get(kind, ())}.values())
        self.threads = {row["id"]: (row["pid"], row["tid"]) for row in self.rows["thread"]}
        self.configs = {kind: {row["id"]: tuple(v for k, v in row.items() if k not in ("id", "name"))
                               for row in self.rows[of]} for kind, of in (("kernel", "launch_config"), ("cpu_op", "op_config"))}
        for name, rows in self.rows.items():
            for row in rows:
                self.replace_numbers(name, row)

    def replace_numbers(self, kind, row):
        """Of a row: numbers that each trace gives anew, by what they stand for; times by when they were."""
        for column, value in row.items():
            if column in ("time_ns", "start_ns", "from_ns", "to_ns") and kind != "process":
                row[column] = str(int(value) + self.base)
            elif column in ("thread", "from_thread", "to_thread"):
                row[column] = self.threads.get(value, value)
            elif column == "config":
                row[column] = self.configs[kind].get(value, value)

    def columns(self, kind):
        """Column -> values of all rows, in no order."""
        found = collections.defaultdict(collections.Counter)
        for row in self.rows.get(kind, ()):
            for column, value in row.items():
                # facts are compared one by one: of each its value
                found[row["key"] if (kind, column) == ("meta", "value") else column][value] += 1
        return found


def compare(path, form, found):
    """Adds what was compared, and of it what differs."""
    exported = os.path.join(folder, "x." + form)
    run("export", path, "-o", exported)
    before, after = Trace(path), Trace(exported)
    for kind in sorted(set(before.rows) | set(after.rows)):
        a, b = before.columns(kind), after.columns(kind)
        for column in set(a) | set(b):
            if column in DERIVED:
                continue
            found["fields"].add((kind, column))
            if a[column] != b[column]:
                found["lost"].add((kind, column))
                if (kind, column) not in REASONS:
                    sys.exit(f"{path}: {kind}.{column} differs: {(a[column] - b[column]).most_common(3)} became "
                             f"{(b[column] - a[column]).most_common(3)}")
    os.unlink(exported)


def left_out(path, found):
    """Reasons for which the first import leaves records out."""
    into = None
    for line in run("import", path, "-o", os.path.join(folder, "t.wtrace")).stdout.splitlines():
        if line == "left out:":
            into = found["reasons"]
        elif into is not None:
            into.add(line.split(None, 1)[1])


def table_of(found):
    lines = ["| way | compared | lost |", "|---|---|---|"]
    for form, words in FORMS.items():
        kinds = {kind for kind, _ in found[form]["fields"]}
        lost = "; ".join(sorted(REASONS[field] for field in found[form]["lost"]))
        lines.append(f"| {words} | {len(kinds)} kinds of record, {len(found[form]['fields'])} fields | {lost} |")
    lines += ["", "| of the file | the first import leaves out |", "|---|---|"]
    for form, words in (("json", "PyTorch JSON"), ("sqlite", "Nsight SQLite")):
        lines.append(f"| {words} | {'; '.join(sorted(found[form]['reasons']))} |")
    return "\n".join(lines) + "\n"


files = {"json": sorted(glob.glob(f"{sources}/fixtures/imports/*.json.gz")), "sqlite": []}
for name in ("step-fp32", "killed"):
    files["sqlite"].append(os.path.join(folder, name + ".sqlite"))
    run("export", f"{sources}/fixtures/traces/{name}.wtrace", "-o", files["sqlite"][-1])
data = os.path.join(sources, "../shared/data")
files["json"] += sorted(glob.glob(f"{data}/kineto/*.json.gz"))
files["sqlite"] += sorted(glob.glob(f"{data}/nsys/*.sqlite"))
found = {form: {"fields": set(), "lost": set(), "reasons": set()} for form in FORMS}
for form, paths in files.items():
    for path in paths:
        compare(path, form, found[form])
        left_out(path, found[form])
page = os.path.join(sources, "docs/reference/export.md")
with open(page, encoding="utf-8") as f:
    text = f.read()
before, rest = text.split(BEGIN)
old, behind = rest.split(END)
if os.environ.get("UPDATE_DOCS"):
    with open(page, "w", encoding="utf-8") as f:
        f.write(before + BEGIN + table_of(found) + END + behind)
elif not os.path.isdir(data):
    print(f"[SKIP] no {data}: only fixtures made the trip")
elif old != table_of(found):
    sys.exit(f"{page} is not what was found; UPDATE_DOCS=1 writes it anew:\n{table_of(found)}")
print(f"{sum(len(paths) for paths in files.values())} files, {sum(len(f['fields']) for f in found.values())} fields")
