#!/usr/bin/env python3
"""Columns that are compared have one unit, in every table of every fixture, in HTML, Markdown and workbook. On a
terminal of 100 columns no table hides a key or an answer, except the summary, which is no table there. Spreads of a sweep and an A/A test are
error bars in the workbook.

    check_columns.py WARPSHEET ROOT
"""
import glob
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import zipfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
import check_xlsx
import page_data
from layout import HEADER_ROW, bare, title_of

PROGRAM, ROOT = sys.argv[1:]
TERMINAL = 100
SCRATCH = tempfile.TemporaryDirectory()
RANKS = os.path.join(SCRATCH.name, "ranks")
# what tells columns of one quantity apart in their ids: sides, and statistics of the same times
TELLS_APART = {"a", "b", "diff", "low", "high", "from", "to", "typical", "gpu",
               "avg", "mean", "med", "min", "max", "std", "ns"}
UNIT = re.compile(r"\((ns|µs|ms|s)\)$")
bad = checked = 0


def complain(text):
    global bad
    bad += 1
    print(text)


def fixture(*parts):
    return sorted(glob.glob(os.path.join(ROOT, "fixtures", *parts)))


def commands():
    for trace in fixture("traces", "*.wtrace") + fixture("recorded", "*", "*.wtrace") + fixture("imports", "*.json.gz"):
        yield "report", trace
    yield "diff", *fixture("traces", "step-*.wtrace")
    yield "diff", *fixture("recorded", "aa", "mlp-r[123].wtrace"), "--", *fixture("recorded", "aa", "mlp-r[456].wtrace")
    yield "diff", *fixture("recorded", "grid", "transformer-tiny-context8-fp32*"), "--", *fixture("recorded", "grid", "transformer-small-context8-fp32*")
    yield "diff", "--aa", *fixture("recorded", "aa", "*.wtrace")
    yield "sweep", os.path.join(ROOT, "fixtures", "recorded", "grid")
    yield "report", RANKS


def run(*args, width=160):
    out = subprocess.run([PROGRAM, *args], capture_output=True, text=True, env=dict(os.environ, COLUMNS=str(width)))
    if out.returncode not in (0, 1, 6):
        complain(f"{' '.join(args)}: {out.stderr}")
    return out.stdout


def quantity(column):
    """What a time is of. None: no time. A sum is of another than its parts."""
    if column["unit"] != "ns":
        return None
    words = [w for w in column["id"].split("_") if w not in TELLS_APART and not w.isdigit()]
    return " ".join(words + (["sum"] if "Total" in column["title"] else []))


def check(what, table, titles):
    """titles: (column of the JSON, what people read for it)."""
    global checked
    units = {}
    for i, title in titles:
        of, unit = quantity(table["columns"][i]), UNIT.search(title)
        if of is not None:
            units.setdefault(of, {})[title] = unit and unit.group(1)
    for of, of_titles in units.items():
        checked += len(of_titles) > 1
        if len(set(of_titles.values())) > 1:
            complain(f"{what}, {table['table']}: {', '.join(of_titles)}")


def by_title(table, heads):
    """Heads without their units are titles without them, or begin with the names of sides."""
    found = {}
    for i, column in enumerate(table["columns"]):
        title = bare(column["title"])
        for side, name in zip("AB", table.get("sides", ())):
            title = " ".join(name if w == side else w for w in title.split(" "))
        found[title] = i
    return [(found[bare(h)], h) for h in heads if bare(h) in found]


def check_terminal(what, args, name, view):
    """The rule under the heads has a dash for each column."""
    if "--aa" in args and name == "method":
        return
    text = run(*args, *(() if "--aa" in args else ("--table", name)), width=TERMINAL)
    rule = next((line for line in text.split("\n") if re.fullmatch(r"-+(  -+)*", line)), "")
    seen = len(rule.split())
    if seen < view["answers"]:
        complain(f"{what}, {name}: {seen} of {view['answers']} keys and answers on {TERMINAL} columns")


def check_widths(what, path):
    """No column has its width twice: readers call such a file damaged, or take the first."""
    with zipfile.ZipFile(path) as book:
        for sheet in book.namelist():
            if sheet.startswith("xl/worksheets/sheet"):
                spans = sorted((int(a), int(b)) for a, b in re.findall(r'<col min="(\d+)" max="(\d+)"', book.read(sheet).decode()))
                for (a, b), (c, d) in zip(spans, spans[1:]):
                    if c <= b:
                        complain(f"{what}, {sheet}: columns {a} to {b} and {c} to {d}")


def digits(value):
    """Without its unit: every time is from 1 to 999 of one."""
    return value / 1000 ** (math.log10(value) // 3)


def check_errors(what, page, path):
    """Each end of a spread in the page's picture is an error bar of that length in the workbook's."""
    rows = (page["first"] or {}).get("rows", {}).get("list", [])
    want = sorted(digits(d) for r in rows if r["low"] is not None for d in (r["ns"] - r["low"], r["high"] - r["ns"]) if d > 0)
    with zipfile.ZipFile(path) as book:
        got = sorted(digits(float(v)) for n in book.namelist() if n.startswith("xl/charts/chart")
                     for v in re.findall(r'<c:errValType val="fixedVal"/><c:val val="([^"]*)"', book.read(n).decode()))
    if len(got) != len(want) or not all(map(math.isclose, got, want)):
        complain(f"{what}: error bars {got} of spreads {want}")
    if what.startswith(("sweep", "diff --aa")) and not got:
        complain(f"{what}: no error bar")


def main():
    subprocess.run([sys.executable, os.path.join(ROOT, "tests", "e2e", "ranks.py"), "make", RANKS, "4", "3"], check=True, capture_output=True)
    for args in commands():
        with tempfile.TemporaryDirectory() as folder:
            run(*args, "-o", f"{folder}/p.html")
            run(*args, "-o", f"{folder}/p.xlsx")
            what = " ".join(os.path.basename(a) for a in args)
            check_widths(what, f"{folder}/p.xlsx")
            page, book = page_data.read_page(f"{folder}/p.html")[0], check_xlsx.Workbook(f"{folder}/p.xlsx")
            report = json.loads(run(*args, "--format", "json"))
            check_errors(what, page, f"{folder}/p.xlsx")
            for name, table in report["tables"].items():
                if not table["rows"]:
                    continue
                if name in page["views"] and name != "summary":
                    check_terminal(what, args, name, page["views"][name])
                if name in page["views"]:
                    check(f"{what}, HTML", table, [(c["index"], c["title"]) for c in page["views"][name]["columns"]])
                for sheet in book.sheets:
                    if sheet.cells.get((1, 0)) == title_of(table):
                        heads = [v for (row, _), v in sorted(sheet.cells.items()) if row == HEADER_ROW and isinstance(v, str)]
                        check(f"{what}, workbook", table, by_title(table, heads))
                if any(c["unit"] == "ns" for c in table["columns"]):
                    head = next(line for line in run(*args, "--table", name, "--format", "md").split("\n") if line.startswith("|"))
                    check(f"{what}, Markdown", table, by_title(table, [c.strip() for c in head.strip("|\n").split("|")]))
    if bad or not checked:
        sys.exit(f"{bad} faults of {checked} groups of columns")
    print(f"{checked} groups of columns that are compared have one unit each; no table hides a key or an answer")


if __name__ == "__main__":
    main()
