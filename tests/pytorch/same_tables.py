"""Programs recorded in full and as --pytorch does, NAME.full.wtrace and NAME.shapes.wtrace: their tables are the same, but
for times. same_tables.py WARPSHEET TABLE,TABLE... NAME..."""
import csv
import os
import subprocess
import sys


def rows(warpsheet, trace, table):
    path = f"{trace}.{table}.csv"
    subprocess.run([warpsheet, "report", trace, "--table", table, "--format", "csv", "-o", path],
                   check=True, capture_output=True)
    if not os.path.exists(path):  # nothing of this kind was recorded
        return []
    # of several lines the one with the most time stands first
    kept = [{k: v for k, v in r.items() if not any(u in k for u in ("ns)", "%", "/s", "Ratio", "Source", "Bound"))}
            for r in csv.DictReader(open(path, newline="", encoding="utf-8"))]
    return sorted(map(str, kept))


for program in sys.argv[3:]:
    for name in sys.argv[2].split(","):
        full, shapes = (rows(sys.argv[1], f"{program}.{how}.wtrace", name) for how in ("full", "shapes"))
        wrong = [(a, b) for a, b in zip(full, shapes) if a != b]
        if wrong or len(full) != len(shapes) or (name == "ops" and not full):
            sys.exit(f"{program}, {name}: {len(full)} and {len(shapes)} rows, {wrong[:2]}")
