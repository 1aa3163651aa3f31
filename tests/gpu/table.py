#!/usr/bin/env python3
"""The answers of run.sh as a table on stdout and as one JSON file: table.py LINES RESULTS"""
import json
import sys

# What own kernels must reach of the bandwidth of a copy, at sizes that fill the GPU.
SHARE = 0.8
LARGE_BYTES = 64 << 20


def main():
    with open(sys.argv[1]) as lines:
        results = [json.loads(line) for line in lines if line.startswith("{")]
    ceilings = [r for r in results if r["kind"] == "ceiling"]
    for r in ceilings:
        print("ceiling   %-48s %10.1f %s" % (r["name"], r.get("gb_s", r.get("tflop_s", 0)),
                                             "GB/s" if "gb_s" in r else "TFLOP/s"))
    best = {}
    for r in results:
        if r["kind"] == "kernel" and r["bytes"] >= best.get(r["name"], r)["bytes"]:
            best[r["name"]] = r
    for name, r in sorted(best.items()):
        note = "small" if r["bytes"] < LARGE_BYTES else "" if r["of_copy"] >= SHARE else "SLOW"
        print("kernel    %-48s %10.1f GB/s %6.1f %% of a copy %10.1f us %s" % (
            name, r["gb_s"], 100 * r["of_copy"], r["us"], note))
    # products of one model and size are the same whoever computes them
    flops = {(r["name"], r["batch"], r["context"]): r["product_flops"]
             for r in results if r["kind"] == "step" and "product_flops" in r}
    peaks = {r["name"]: r["tflop_s"] for r in ceilings if "tflop_s" in r}
    for r in results:
        if r["kind"] != "step":
            continue
        rate = r["batch"] * (r["context"] or 1) / r["ms"] * 1e3
        done = flops.get((r["name"], r["batch"], r["context"]), 0) / r["ms"] / 1e9
        peak = peaks.get("gemm " + {"amp-bf16": "bf16", "amp-fp16": "fp16"}.get(r["dtype"], r["dtype"]))
        r["tflop_s"], r["units_s"] = done, rate
        r["mfu"] = done / peak if peak else None
        print("step      %-20s %-9s %-13s batch %4d context %5d %10.2f ms %10.0f %s/s %8.1f TFLOP/s %s" % (
            r["name"], r["dtype"], r["fusion"], r["batch"], r["context"], r["ms"], rate,
            "tokens" if r["context"] else "images", done,
            "%5.1f %% of the ceiling" % (100 * r["mfu"]) if r["mfu"] else ""))
    with open(sys.argv[2], "w") as out:
        json.dump({"results": results}, out, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
