#!/usr/bin/env python3
"""How fast reports are, beside other engines on the same records, and how that grows.

bench.py BUILD [--sizes N,N,...] [--rounds N] [--rivals NAME,NAME,...]

Makes model traces (bench_trace, the same on every machine), then times whole processes, ours and
each rival in turn within a round, so that a busy machine is busy for both. Prints Markdown: median
and spread of the seconds, peak memory, the ratio to ours within a round, and the exponent e of
time ~ launches^e over the sizes. A rival that is not there is named and left out.
"""
import argparse
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

SQL = """SELECT s.value, count(*), sum(end - start), avg(end - start), min(end - start),
max(end - start) FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN StringIds s ON s.id = k.demangledName
GROUP BY 1 ORDER BY 3 DESC"""

PANDAS = """
import sqlite3, sys, pandas
db = sqlite3.connect(sys.argv[1])
k = pandas.read_sql('SELECT s.value AS name, k.end - k.start AS ns '
    'FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN StringIds s ON s.id = k.demangledName', db)
print(k.groupby('name').ns.agg(['count', 'sum', 'mean', 'median', 'min', 'max', 'std']))
"""

DUCKDB_OPEN = """
import { createRequire } from 'node:module';
import { readdirSync } from 'node:fs';
const require = createRequire(process.argv[2] + '/package.json');
const { DuckDBInstance } = require('@duckdb/node-api');
const connection = await (await DuckDBInstance.create(':memory:', { threads: '2' })).connect();
"""
DUCKDB = DUCKDB_OPEN + """
const reader = await connection.runAndReadAll(`SELECT name, count(*), sum(dur_ns), avg(dur_ns),
  median(dur_ns), min(dur_ns), max(dur_ns), stddev(dur_ns)
  FROM read_parquet('${process.argv[3]}/kernels.parquet') GROUP BY 1 ORDER BY 3 DESC`);
if (!reader.getRowsJson().length) process.exit(1);
"""
# Every file of a folder written again.
DUCKDB_COPY = DUCKDB_OPEN + """
const [, , , from, to] = process.argv;
for (const file of readdirSync(from).filter((name) => name.endsWith('.parquet')))
  await connection.run(`COPY (SELECT * FROM read_parquet('${from}/${file}'))
    TO '${to}/${file}' (FORMAT parquet, COMPRESSION zstd)`);
"""


TABLES = ("CUPTI_ACTIVITY_KIND_RUNTIME", "CUPTI_ACTIVITY_KIND_KERNEL", "NVTX_EVENTS")
# The rows of a database into a new one, without a journal; all its pages checked and rows read.
COPY = "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; ATTACH '%s' AS o; BEGIN; " + "; ".join(
    f"CREATE TABLE {t} AS SELECT * FROM o.{t}" for t in TABLES) + "; COMMIT"
# What a rival's time is a multiple of, and what it is called.
BESIDE = {
    "sqlite3": ("kernel-summary", "sqlite3, kernel summary without median and deviation"),
    "pandas": ("kernel-summary", "pandas, kernel summary"),
    "duckdb": ("kernel-summary", "duckdb, kernel summary"),
    "copy": ("export to SQLite", "sqlite3 copying the three large tables of it"),
    "read": ("import of it", "sqlite3 checking it and reading every column"),
    "duckdb-copy": ("export to Parquet", "duckdb copying the files of it"),
    "gzip": ("export to JSON.gz", "gzip -6 of the same text"),
}


def run(command):
    """Seconds of the process and its peak memory in bytes."""
    start = time.monotonic()
    pid = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    errors = pid.stderr.read()
    _, status, usage = os.wait4(pid.pid, 0)
    seconds = time.monotonic() - start
    pid.returncode = os.waitstatus_to_exitcode(status)
    if pid.returncode:
        sys.exit(f"bench: {command[0]} ended with {pid.returncode}: {errors.decode()}")
    return seconds, usage.ru_maxrss * 1024


def ours(warpsheet, trace):
    report = [warpsheet, "report", trace]
    times = "name,instances,total_ns,avg_ns,med_ns,min_ns,max_ns,std_ns"
    summary = report + ["--table", "kernel-summary", "--format", "csv"]
    return {
        "kernel-summary, times alone": summary + ["--columns", times],
        "kernel-summary": summary,
        "ranges": report + ["--table", "ranges", "--format", "csv"],
        "all tables as text": report + ["-o", os.path.join(os.path.dirname(trace), "all.txt")],
        "info": [warpsheet, "info", trace],
    }


def exchange(warpsheet, trace):
    """Exports and imports, each beside what others need for the least of it."""
    folder = os.path.dirname(trace)
    database, text, copy = (os.path.join(folder, name) for name in ("x.sqlite", "x.json", "copy.db"))
    run([warpsheet, "export", trace, "-o", database])
    run([warpsheet, "export", trace, "-o", text])
    read = "PRAGMA quick_check; "
    for table in TABLES:
        columns = subprocess.run(["sqlite3", database, f"SELECT name FROM pragma_table_info('{table}')"],
                                 capture_output=True, check=True, text=True).stdout.split()
        read += "SELECT %s FROM %s; " % (", ".join(f'max("{c}")' for c in columns), table)
    return {
        "export to SQLite": [warpsheet, "export", trace, "-o", trace + ".db"],
        "copy": ["sh", "-c", 'rm -f "$1" && sqlite3 "$1" "$2"', "sh", copy, COPY % database],
        "import of it": [warpsheet, "import", database, "-o", trace + ".again"],
        "read": ["sqlite3", database, read],
        "export to JSON.gz": [warpsheet, "export", trace, "-o", trace + ".json.gz"],
        "gzip": ["sh", "-c", 'gzip -6 -c "$1" >"$1.gz"', "sh", text],
        "export to Perfetto's protobuf": [warpsheet, "export", trace, "-o", trace + ".pftrace"],
        "export to Parquet": [warpsheet, "export", trace, "-o", trace + ".parquet"],
    }


class Rivals:
    """Other engines' kernel summary of the same records, from what we export for them."""

    def __init__(self, build, wanted):
        modules = os.path.join(build, "at_scale")
        has = {
            "sqlite3": bool(shutil.which("sqlite3")),
            "pandas": run_quietly([sys.executable, "-c", "import pandas"]),
            "duckdb": bool(shutil.which("node"))
            and os.path.isdir(os.path.join(modules, "node_modules/@duckdb/node-api")),
        }
        self.modules = modules
        self.names = [name for name in wanted if has[name]]
        self.missing = [name for name in wanted if not has[name]]

    def commands(self, warpsheet, trace):
        folder = os.path.dirname(trace)
        database, parquet = trace + ".sqlite", trace + ".parquet"
        script, copy = (os.path.join(folder, name) for name in ("duckdb.mjs", "copy.mjs"))
        if "sqlite3" in self.names or "pandas" in self.names:
            run([warpsheet, "export", trace, "-o", database])
        if "duckdb" in self.names:
            run([warpsheet, "export", trace, "-o", parquet])
            with open(script, "w") as f:
                f.write(DUCKDB)
            with open(copy, "w") as f:
                f.write(DUCKDB_COPY)
            # the folder of events of this one rank
            for where, _, files in os.walk(parquet):
                if "kernels.parquet" in files:
                    parquet = where
        commands = {
            "sqlite3": ["sqlite3", database, SQL],
            "pandas": [sys.executable, "-c", PANDAS, database],
            "duckdb": ["node", script, self.modules, parquet],
        }
        commands = {name: commands[name] for name in self.names}
        if "duckdb" in commands:
            commands["duckdb-copy"] = ["node", copy, self.modules, parquet, folder]
        return commands


def run_quietly(command):
    return not subprocess.run(command, capture_output=True).returncode


def exponent(points):
    """Least squares of log time over log launches."""
    if len(points) < 2:
        return None
    x = [math.log(n) for n, _ in points]
    y = [math.log(s) for _, s in points]
    mx, my = statistics.mean(x), statistics.mean(y)
    return sum((a - mx) * (b - my) for a, b in zip(x, y)) / sum((a - mx) ** 2 for a in x)


def spread(values, digits=3):
    values = sorted(values)
    return f"{statistics.median(values):.{digits}f} ({values[0]:.{digits}f}–{values[-1]:.{digits}f})"


def measure(commands, rounds):
    results = {name: ([], []) for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            seconds, peak = run(command)
            results[name][0].append(seconds)
            results[name][1].append(peak)
    return results


def print_size(size, results, points):
    print(f"\n## {size:,} launches\n\n| what | seconds | peak MB | times ours, same round |")
    print("|---|---|---|---|")
    for name, (seconds, peaks) in results.items():
        ratio = ""
        if name in BESIDE:
            reference, name = BESIDE[name]
            ratio = spread([r / o for r, o in zip(seconds, results[reference][0])], 1)
        print(f"| {name} | {spread(seconds)} | {max(peaks) / 1e6:.0f} | {ratio} |")
        points.setdefault(name, []).append((size, statistics.median(seconds)))


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("build")
    p.add_argument("--sizes", default="100000,1000000,2000000")
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--rivals", default="sqlite3,pandas,duckdb")
    options = p.parse_args()
    build = os.path.abspath(options.build)
    warpsheet = os.path.join(build, "bin/warpsheet")
    rivals = Rivals(build, [r for r in options.rivals.split(",") if r])
    points = {}
    for name in rivals.missing:
        print(f"left out: {name} is not installed")
    for size in map(int, options.sizes.split(",")):
        with tempfile.TemporaryDirectory() as folder:
            trace = os.path.join(folder, "model.wtrace")
            run([os.path.join(build, "tests/bench_trace"), str(size), trace])
            commands = ours(warpsheet, trace)
            commands.update(rivals.commands(warpsheet, trace))
            if "sqlite3" in rivals.names:
                commands.update(exchange(warpsheet, trace))
            print_size(size, measure(commands, options.rounds), points)
    print("\n## Growth\n\n| what | e in seconds ~ launches^e |\n|---|---|")
    for name, of_sizes in points.items():
        e = exponent(of_sizes)
        print(f"| {name} | {'' if e is None else f'{e:.2f}'} |")


if __name__ == "__main__":
    main()
