#!/usr/bin/env python3
"""A page of differences has one number for one thing: headline, waterfall, tables, icicles and timelines are of
the same step of each side, and their parts add up to it. Without a verdict there is no cause and no colour.

    check_diff.py WARPSHEET ROOT
"""
import glob
import json
import math
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
import page_data

PROGRAM, ROOT = sys.argv[1:]
SIDES = "ab"
bad = 0


def complain(what, text):
    global bad
    bad += 1
    print(f"{what}: {text}")


def fixture(*parts):
    return sorted(glob.glob(os.path.join(ROOT, "fixtures", *parts)))


def comparisons():
    """Name, sides, and whether a verdict must be possible."""
    mlp = [fixture("recorded", "aa", f"mlp-r[{n}].wtrace") for n in ("123", "456")]
    yield "A/A", mlp, False
    yield "A/A of even numbers", [fixture("recorded", "aa", f"mlp-r[{n}].wtrace") for n in ("12", "3456")], False
    yield "fp32 and bf16", [fixture("traces", f"step-{d}.wtrace") for d in ("fp32", "bf16")], True
    grid = os.path.join("recorded", "grid")
    yield "grid", [fixture(grid, f"transformer-tiny-context8-{d}-*") for d in ("fp32", "amp-bf16")], False
    yield "h100", [fixture("recorded", "h100", f"{n}.wtrace") for n in ("resnet50", "transformer-small")], False
    switch = [glob.glob(os.path.join(ROOT, "..", "shared", "data", "kineto", f"switch_{n}.json.gz")) for n in "ac"]
    if all(switch):
        yield "switch", switch, False


def close(a, b):
    return math.isclose(a, b, rel_tol=1e-6, abs_tol=2)


def check_numbers(what, tables, first):
    def rows(name):
        return [dict(zip((c["id"] for c in tables[name]["columns"]), row)) for row in tables[name]["rows"]]

    verdict = {r["subject"]: r for r in rows("diff-verdict")}
    overall = verdict["overall"]
    parts = rows("diff-waterfall")
    total, parts = parts[-1], parts[:-1]
    for i, side in enumerate(SIDES):
        whole = total[f"{side}_ns"]
        if not close(sum(p[f"{side}_ns"] for p in parts), whole):
            complain(what, f"the waterfall's parts are not {whole} of side {side}")
        if not close(1e6 * overall[side], whole):
            complain(what, f"the verdict has {overall[side]} ms, the waterfall {whole} ns")
        if not close(first["bars"][-1 if i else 0]["to"], whole):
            complain(what, f"the bar has {first['bars'][-1 if i else 0]['to']}, the waterfall {whole}")
        if not close(first["sides"][i]["timeline"]["length"], whole):
            complain(what, f"the timeline has {first['sides'][i]['timeline']['length']}, the waterfall {whole}")
        # of one device; of several the uses are sums
        uses = [r for r in rows("diff-idle") if r["device"] != "all"]
        devices = len({r["device"] for r in uses})
        if uses and not close(sum(r[f"{side}_ns"] or 0 for r in uses) / devices, whole):
            complain(what, f"the uses of devices are not {whole} of side {side}")
        tree = first["sides"][i]["tree"]
        for name in ("diff-classes", "diff-ops", "diff-kernels"):
            gpu = sum(r[f"gpu_{side}_ns"] or 0 for r in rows(name))
            if not close(gpu, tree["total"] / tree["per"]):
                complain(what, f"{name} has {gpu} ns of side {side}, the icicle {tree['total'] / tree['per']}")
    for p in [total, *parts]:
        if not close(p["diff_ns"], p["b_ns"] - p["a_ns"]):
            complain(what, f"{p['part']}: {p['diff_ns']} is no difference of its columns")
    for r in rows("diff-ops"):
        like = r["gpu_a_ns"] and r["gpu_b_ns"] and r["instances_a"] == r["instances_b"] and not r["shape_b"]
        if like and r["ratio"] and r["matched_by"].startswith("range") and not math.isclose(r["ratio"], r["gpu_b_ns"] / r["gpu_a_ns"], rel_tol=1e-6):
            complain(what, f"{r['op']}: {r['gpu_a_ns']} to {r['gpu_b_ns']} is not {r['ratio']} times")
        if r["grade"] and r["ratio"] and ("FASTER" in r["grade"] and r["ratio"] >= 1 or "SLOWER" in r["grade"] and r["ratio"] <= 1):
            complain(what, f"{r['op']}: {r['grade']} with a ratio of {r['ratio']}")
    if overall["ratio"]:
        if not math.isclose(overall["ratio"], overall["b"] / overall["a"], rel_tol=1e-6):
            complain(what, f"the step's ratio {overall['ratio']} is not {overall['b']} / {overall['a']}")
        if not overall["low"] is None and not overall["low"] <= overall["ratio"] <= overall["high"]:
            complain(what, f"the interval of {overall['ratio']} is {overall['low']} to {overall['high']}")
    return overall["grade"]


def main():
    for what, sides, has_verdict in comparisons():
        with tempfile.TemporaryDirectory() as folder:
            args = [PROGRAM, "diff", *sides[0], "--", *sides[1]]
            for form in ("p.html", "p.json", "p.md"):
                subprocess.run([*args, "-o", f"{folder}/{form}"], check=True, capture_output=True)
            page = page_data.read_page(f"{folder}/p.html")[0]
            with open(f"{folder}/p.json") as f:
                tables = json.load(f)["tables"]
            with open(f"{folder}/p.md") as f:
                comment = f.read()
            grade = check_numbers(what, tables, page["first"])
            said = " ".join("".join(p[0] if isinstance(p, list) else str(p) for p in a["line"]) for a in page["first"]["answers"])
            unsure = grade in ("AMBIGUOUS", "UNLIKE")
            if page["first"]["unsure"] != unsure or unsure == has_verdict:
                complain(what, f"{grade}, and the page is {'un' if page['first']['unsure'] else ''}sure")
            if unsure and ("Why" in said or "Why" in comment):
                complain(what, f"a cause without a verdict: {said}")
            if unsure and not re.search(r"Record|vary too much|need three|--force", said):
                complain(what, f"nothing says what would settle it: {said}")
            if comment[0] != ("⚠" if unsure else "✅" if "FASTER" in grade else "❌"):
                complain(what, f"{grade}, and the comment begins with {comment[:40]}")
            if re.search(r"^#{1,3} ", comment, re.M):
                complain(what, "the comment has a large heading")
    if bad:
        sys.exit(f"{bad} faults")
    print("pages of differences have one number for one thing")


if __name__ == "__main__":
    main()
