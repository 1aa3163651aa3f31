"""A database of Nsight Systems promises no order of rows: shuffled.py WARPSHEET SOURCE. Each fixture becomes such a
database, and one whose tables have their rows in another order; both must make the same report."""
import os
import random
import re
import sqlite3
import subprocess
import sys
import tempfile

FIXTURES = ["imports/alexnet-a100.json.gz", "imports/bert-small-h100.json.gz", "imports/event-sync-a100.json.gz",
            "traces/step-fp32.wtrace"]


def shuffle(path, seed):
    """Tables that hold texts by their number keep those numbers. Ours, which no other program writes, keep their
    order."""
    db = sqlite3.connect(path)
    order, moved = random.Random(seed), 0
    for (table,) in list(db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")):
        rows = list(db.execute(f'SELECT * FROM "{table}"'))
        if len(rows) < 2 or table.startswith("WARPSHEET_"):
            continue
        shuffled = order.sample(rows, len(rows))
        moved += shuffled != rows
        db.execute(f'DELETE FROM "{table}"')
        db.executemany(f'INSERT INTO "{table}" VALUES ({",".join("?" * len(rows[0]))})', shuffled)
    db.commit()
    db.close()
    return moved


def report_of(warpsheet, folder):
    """The page, and every table but for what names the file by its content."""
    path, out = os.path.join(folder, "run.sqlite"), os.path.join(folder, "report.json")
    page = subprocess.run([warpsheet, "report", path, "-o", out], capture_output=True, encoding="utf-8", check=True).stdout
    page += subprocess.run([warpsheet, "report", path], capture_output=True, encoding="utf-8", check=True).stdout
    with open(out, encoding="utf-8") as f:
        return re.sub(r"\d+ bytes, XXH3-64 [0-9a-f]+", "", (page + f.read()).replace(folder, ""))


def main(warpsheet, source):
    for fixture in FIXTURES:
        with tempfile.TemporaryDirectory() as plain, tempfile.TemporaryDirectory() as other:
            for folder in (plain, other):
                subprocess.run([warpsheet, "export", os.path.join(source, "fixtures", fixture), "-o",
                                os.path.join(folder, "run.sqlite")], check=True, capture_output=True)
            moved = shuffle(os.path.join(other, "run.sqlite"), 1)
            assert moved > 3, f"{fixture}: only {moved} tables have another order"
            a, b = report_of(warpsheet, plain), report_of(warpsheet, other)
            if a != b:
                lines = [(x, y) for x, y in zip(a.split("\n"), b.split("\n")) if x != y]
                sys.exit(f"{fixture}: the report depends on the order of rows: {lines[:3]}")
            print(f"{fixture}: {moved} tables in another order, one report")


main(*sys.argv[1:])
