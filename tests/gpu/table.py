#!/usr/bin/env python3
"""The lines of a sitting as a table, a verdict a line: table.py [--markdown] LINES [RESULTS]

LINES: what gpu_bench, torch_steps.py and common.sh wrote, JSON each. RESULTS: the same in one file.
"""
import json
import sys

MARKDOWN = "--markdown" in sys.argv

def row(verdict, name, figure="", goal=""):
    if MARKDOWN:
        print("| %s |" % " | ".join(str(cell).strip().replace("|", "\\|") for cell in (verdict, name, figure, goal)))
    else:
        print("%-5s  %-112s %24s  %s" % (verdict, name, figure, goal))


def rows_of_bench(results):
    for r in results:
        if r["kind"] == "ceiling":
            what = "gb_s" if "gb_s" in r else "tflop_s"
            row("info", "ceiling: " + r["name"], "%.1f %s" % (r[what], "GB/s" if what == "gb_s" else "TFLOP/s"))
    best = {}
    for r in results:  # a kernel is met in several sessions: where it moves most
        if r["kind"] == "kernel" and r["bytes"] >= best.get(r["name"], r)["bytes"]:
            best[r["name"]] = r
    for name, r in sorted(best.items()):
        small = r["verdict"] == "small"  # the shapes of gpu_bench are to leave none
        row("fail" if small else r["verdict"], "kernel: " + name, "%.1f %% of a copy" % (100 * r["of_copy"]),
            "none: " + r["why"] if r["why"] else
            "%s, of %d MiB" % ("a shape of 256 MiB" if small else "at least 80 %", r["bytes"] >> 20))
    steps = {}
    for r in results:
        if r["kind"] == "step":
            steps.setdefault((r["name"], r["dtype"], r["batch"], r["context"], r["fusion"]), []).append(r)
    for (name, dtype, batch, context, how), rounds in steps.items():
        times = sorted(r["ms"] for r in rounds)
        rate = batch * (context or 1) / times[0] * 1e3
        mfu = max((r.get("mfu") or 0) for r in rounds)
        row("info", "step: %s %s batch %d%s, %s: %.0f %s/s%s" % (
            name, dtype, batch, " context %d" % context if context else "", how, rate, "tokens" if context else "images",
            ", %.1f %% of the ceiling" % (100 * mfu) if mfu else ""),
            "%.3f ms (median %.3f)" % (times[0], times[len(times) // 2]))


def main():
    paths = [path for path in sys.argv[1:] if path != "--markdown"]
    with open(paths[0]) as lines:
        results = [json.loads(line) for line in lines if line.startswith("{")]
    for r in results:
        if r["kind"] == "verdict":
            row(r["verdict"], r["name"], "%s %s" % (r["figure"], r["unit"]), r["goal"])
    rows_of_bench(results)
    if len(paths) > 1:
        with open(paths[1], "w") as out:
            json.dump({"results": results}, out, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
