"""The table of devices' peaks, held against itself, and the page against it: peaks.py device_peaks.txt devices.md

Where a source gives SMs, lanes and clock, fp32 follows from them. A Tensor Core of a GeForce does a fixed number of operations a clock:
twice those of the FMA units with sums in fp32 (RTX 20: four times), four times in fp8. A source says what it was held against.
"""
import re
import sys

QUANTITIES = ("fp32", "tf32", "fp16", "bf16", "fp8", "memory")
HELD = ("datasheet", "whitepaper", "by two public tables", "not compared")


def near(a, b, by):
    return abs(a - b) <= by


def of_row(name, peak, source):
    check = re.search(r"check (\d+) x (\d+) x 2 x ([\d.]+)", source)
    if check and not near(peak["fp32"], float(check[1]) * float(check[2]) * 2 * float(check[3]) / 1000, 0.06):  # a data sheet rounds to 0.1
        yield "fp32 is not that of its SMs and clock"
    if not any(held in source for held in HELD):
        yield "the source does not say what it was held against"
    if "GeForce" not in name:
        return
    turing, fp32 = "RTX 20" in name, peak["fp32"]
    if not near(peak["fp16"], (4 if turing else 2) * fp32, 0.26):
        yield "fp16 has another ratio to fp32"
    if (peak["tf32"], peak["bf16"]) != ((0, 0) if turing else (fp32, peak["fp16"])):
        yield "tf32 or bf16 has another ratio to fp32"
    if peak["fp8"] and not near(peak["fp8"], 4 * fp32, 0.3):
        yield "fp8 has another ratio to fp32"


def main(table, page):
    with open(table, encoding="utf-8") as f:
        rows = [[part.strip() for part in line.split("|")] for line in f if line.strip() and line[0] != "#"]
    with open(page, encoding="utf-8") as f:
        shown = [[part.strip(" `") for part in line.strip("|\n").split("|")] for line in f if line.startswith("| `")]
    wrong, checked, geforce = [], 0, 0
    made = []
    for name, peaks, source in rows:
        words = peaks.split()
        peak = {q: 0.0 for q in QUANTITIES} | {q: float(v) for q, v in zip(words[::2], words[1::2])}
        checked += "check " in source
        geforce += "GeForce" in name
        wrong += [f"{name}: {why}" for why in of_row(name, peak, source)]
        made.append([name, *(dict(zip(words[::2], words[1::2])).get(q, "") for q in QUANTITIES), source])
    wrong += [f"{page} has {a}, the table {b}" for a, b in zip(shown, made) if a != b]
    if len(shown) != len(made):
        wrong.append(f"{page} has {len(shown)} rows, the table {len(made)}")
    assert checked > 15 and geforce >= 30, "hardly a row is checked"
    print("\n".join(wrong) or f"{len(rows)} devices")
    return wrong != []


sys.exit(main(*sys.argv[1:]))
