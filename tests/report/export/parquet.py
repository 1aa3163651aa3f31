#!/usr/bin/env python3
"""Parquet files beside the report and the page about them: parquet.py WARPSHEET ROOT TRACE...

The kernels of each trace, and their sums, add up to kernel-summary; docs/reference/parquet.md has every
column of every table that it describes, with type and unit, and no other.
"""
import collections
import csv
import io
import os
import re
import subprocess
import sys
import tempfile

JOINED = ("kernels", "nvtx", "payload_value", "facts", "rollup", "rollup_histogram")
warpsheet, root, *traces = sys.argv[1:]
sys.path.insert(0, os.path.join(root, "tests", "support"))
from parquet_reading import File  # pylint: disable=wrong-import-position

wrong = []


def run(*command):
    return subprocess.run(command, check=True, text=True, capture_output=True).stdout


def rows(folder, table, *columns):
    return File(os.path.join(folder, table + ".parquet")).texts(*columns)


def compare_with_report(trace, folder):
    kernels, total, sums = collections.Counter(), collections.Counter(), {}
    for name, dur in rows(folder, "kernels", "name", "dur_ns"):
        kernels[name] += dur != ""
        total[name] += int(dur or 0)
    for name, count, ns in rows(folder, "rollup", "name", "kernels", "sum_ns"):
        sums[name] = [a + int(b) for a, b in zip(sums.get(name, (0, 0)), (count, ns))]
    report = run(warpsheet, "report", trace, "--scope", "all", "--table", "kernel-summary", "--format", "csv")
    heads, *body = csv.reader(io.StringIO(report.lstrip("\ufeff")))
    at = [heads.index(head) for head in ("Name", "Instances", "Total Time (ns)")]
    for name, count, ns in ([row[i] for i in at] for row in body if row[at[0]]):
        if [int(count), int(ns or 0)] != [kernels[name], total[name]] or sums.get(name) != [kernels[name], total[name]]:
            wrong.append(f"{trace}: {name}: report {count} {ns}, kernels {kernels[name]} {total[name]}, rollup {sums.get(name)}")


def compare_page(folder):
    with open(os.path.join(root, "docs/reference/parquet.md"), encoding="utf-8") as f:
        page = f.read()
    listed = 0
    for table in JOINED:
        section = re.search(rf"### `{table}\.parquet`(.*?)(?=\n#|\Z)", page, re.DOTALL)[1]
        lines = File(os.path.join(folder, table + ".parquet")).about()
        about = dict(line.split("=", 1) for line in lines if re.match(r"\S+=", line))
        for line in (line for line in lines if not re.match(r"\S+=", line)):
            name, _, form = line.partition(" ")
            listed += 1
            line = f"| `{name}` | {form} | {about.get('unit.' + name, '')} | "
            if "\n" + line not in section:
                wrong.append(f"docs/reference/parquet.md, {table}, lacks: {line}")
    if page.count("\n| `") != listed:
        wrong.append("docs/reference/parquet.md lists columns that are not there")
    for name in os.listdir(folder):
        if f"`{name.partition('.')[0]}" not in page:
            wrong.append(f"docs/reference/parquet.md does not name {name}")


with tempfile.TemporaryDirectory() as scratch:
    for number, trace in enumerate(traces):
        out = os.path.join(scratch, str(number))
        for options in ([], ["--rollup"]):
            run(warpsheet, "export", trace, "-o", out, "--format", "parquet", *options)
        compare_with_report(trace, out)
    compare_page(out)
print("\n".join(wrong))
sys.exit(bool(wrong))
