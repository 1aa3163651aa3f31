#!/usr/bin/env python3
"""The tables of `warpsheet sweep`, made from the records of a trace by a program that shares nothing with it.

  grid.py WARPSHEET FOLDER TABLES    compares sweep.csv and pivot.csv in TABLES
"""
import csv
import math
import os
import re
import statistics
import subprocess
import sys

warpsheet, folder, tables = sys.argv[1:]


def rows_of(trace, kind):
    text = subprocess.run([warpsheet, "query", trace, f"SELECT * FROM {kind}_record", "--format", "csv"], check=True,
                          capture_output=True, text=True).stdout
    for row in csv.DictReader(text.splitlines()):
        yield {column: int(value) if re.fullmatch(r"-?\d+", value) else value for column, value in row.items()}


def read(trace):
    """Facts, and of each measured step its phases, whole time and time of softmax."""
    facts, stack, steps, phases = {}, [], [], {}
    for e in rows_of(trace, "nvtx"):
        name = str(e["name"])
        if e["type"] == "mark" and name.startswith("workload."):
            key, value = name[len("workload."):].split("=", 1)
            facts[key] = value
        elif e["type"] == "push":
            stack.append((name, e["time_ns"]))
        elif e["type"] == "pop":
            name, begin = stack.pop()
            around = [s[0] for s in stack]
            if name == "step" and "warm-up" not in around:
                steps.append({"begin": begin, "end": e["time_ns"]})
            elif name in ("forward", "backward") and around and around[-1] == "step":
                of_step = phases.setdefault(stack[-1][1], {})
                of_step[name] = of_step.get(name, 0) + e["time_ns"] - begin
    calls = {c["correlation"]: c for c in rows_of(trace, "api")}
    device_end = [(calls[k["correlation"]]["start_ns"], k["start_ns"] + k["dur_ns"]) for k in rows_of(trace, "kernel")]
    before = None
    for s in steps:
        s.update(phases.get(s["begin"], {}))
        begin = s["begin"] if before is None else max(s["begin"], before)
        ends = [end for call, end in device_end if s["begin"] <= call < s["end"]]
        before = max([s["end"], *ends])
        s["total"] = before - begin
    return facts, steps


points = {}  # (model, context, dtype) -> recordings, each a list of steps
for file in sorted(os.listdir(folder)):
    facts, steps = read(os.path.join(folder, file))
    points.setdefault((facts["model"], int(facts["context"]), facts["dtype"]), []).append(steps)


def values(point, time):
    return [s[time] for recording in points[point] for s in recording]


def typical(point):
    """The geometric mean of the recordings' medians."""
    return math.exp(statistics.mean(math.log(statistics.median(s["total"] for s in r)) for r in points[point]))


def same(what, got, want, tolerance=1e-9):
    if not math.isclose(float(got), want, rel_tol=tolerance):
        sys.exit(f"{what} is {got}, not {want}")


def table(name):
    with open(os.path.join(tables, name), newline="", encoding="utf-8") as f:
        return list(csv.DictReader(f))


def main():
    sweep, pivot = table("sweep.csv"), table("pivot.csv")
    if len(points) != 8 or len(sweep) != 8 or len(pivot) != 4:
        sys.exit(f"{len(points)} points, {len(sweep)} rows, {len(pivot)} in the pivot: not 8, 8 and 4")
    for r in sweep:
        point = r["Model"], int(r["Context"]), r["Dtype"]
        if (r["Recordings"], r["Steps"], r["Status"]) != ("2", "6", "ok"):
            sys.exit(f"wrong counts: {r}")
        for time in ("Forward", "Backward", "Total"):
            same(f"{time} of {point}", r[f"{time} (ns)"], statistics.mean(values(point, time.lower())))
            same(f"{time} StdDev of {point}", r[f"{time} StdDev (ns)"], statistics.stdev(values(point, time.lower())))
        same("Tokens/s", r["Tokens/s"], point[1] * 1e9 / statistics.mean(values(point, "total")))
        same("Speedup", r["Speedup"], typical((*point[:2], "fp32")) / typical(point))
        # two recordings of the CPU reference: no interval that could be believed
        if r["Speedup Low"] and r["Dtype"] != "fp32":
            sys.exit(f"an interval out of two recordings: {r}")
    for r in pivot:
        for context in (8, 16):
            point = r["model"], context, r["Configuration"].removeprefix("dtype ")
            mean = {t: statistics.mean(values(point, t)) for t in ("forward", "backward")}
            for time in mean:
                head = f"context {context} {time.capitalize()}"
                same(head, r[f"{head} (ns)"], mean[time])
                same(head + " StdDev", r[f"{head} StdDev (ns)"], statistics.stdev(values(point, time)))
            same("ratio", r[f"context {context} Backward / Forward"], mean["backward"] / mean["forward"])
    print(f"{len(sweep)} rows and {len(pivot)} rows of the pivot as from the raw rows")


main()
