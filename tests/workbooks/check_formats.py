#!/usr/bin/env python3
"""All tables of a trace in all formats for people: names first, no key or answer hidden, no time that
is not 0 shown as 0.00.

    check_formats.py WARPSHEET TRACE|A+B...

A+B is the comparison of both.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

import check_xlsx
from layout import HEADER_ROW, may_be_left_out, place, title_of

WIDTH = 160
bad = 0


def complain(text):
    global bad
    bad += 1
    print(text)


def run(program, trace, *args):
    env = dict(os.environ, COLUMNS=str(WIDTH))
    what = ["diff", *trace.split("+")] if "+" in trace else ["report", trace]
    return subprocess.run([program, *what, *args], check=True, capture_output=True, text=True, env=env).stdout


def cells_of(line):
    """A line of a Markdown table; \\| is no border."""
    return [re.sub(r"\\(.)", r"\1", c.strip()) for c in re.split(r"(?<!\\)\|", line.strip())[1:-1]]


def check_markdown(table, text):
    """Exactly names, keys and answers, in order; times that are not 0 are not shown as 0."""
    lines = text.split("\n")
    at = next((i for i, line in enumerate(lines) if line.startswith("|---") or line.startswith("|--")), None)
    heads = cells_of(lines[at - 1])
    pairs, path, left_out, rest = place(table, heads)
    seen = {i for i, _ in pairs}
    words = [re.sub(r"\\(.)", r"\1", line) for line in lines]
    for i, column in enumerate(table["columns"]):
        if column["rank"] in ("name", "key", "answer") and i not in seen and not may_be_left_out(table, i, words):
            complain(f"{table['table']} in Markdown: no column {column['title']}")
        if column["rank"] in ("detail", "full") and i in seen:
            complain(f"{table['table']} in Markdown: the detail {column['title']}")
    if rest or table["columns"][pairs[0][0]]["rank"] != "name":
        complain(f"{table['table']} in Markdown: begins with {heads[0]}; unknown: {rest}")
    for r, row in enumerate(table["rows"]):
        shown = cells_of(lines[at + 1 + r])
        for i, column in pairs:
            value = row[i]
            if table["columns"][i]["unit"] not in ("ns", "us") or value is None:
                continue
            if re.fullmatch(r"-?0\.0+|-0", shown[column]) or (value and shown[column] == "0"):
                complain(f"{table['table']}, row {r}, {table['columns'][i]['title']}: {value} is shown as {shown[column]}")
    return len(heads)


def check_text(table, text, answers, columns):
    """On a wide terminal nothing is hidden but details."""
    m = re.search(r"^(\d+) columns? hidden", text, re.M)
    hidden = int(m.group(1)) if m else 0
    if columns - hidden < answers:
        complain(f"{table['table']} on {WIDTH} columns: {columns - hidden} of {answers} names, keys and answers")
    wide = [line for line in text.split("\n") if len(line) > WIDTH]
    if wide:
        complain(f"{table['table']}: a line is wider than the terminal: {wide[0]}")


def main():
    program, traces = sys.argv[1], sys.argv[2:]
    checked = 0
    for trace in traces:
        report = json.loads(run(program, trace, "--format", "json"))
        with tempfile.TemporaryDirectory() as folder:
            run(program, trace, "-o", f"{folder}/r.xlsx")
            book = check_xlsx.Workbook(f"{folder}/r.xlsx")
        for name, table in report["tables"].items():
            if name == "summary" or not table["rows"]:
                continue
            answers = check_markdown(table, run(program, trace, "--table", name, "--format", "md"))
            sheet = next(s for s in book.sheets if s.cells.get((1, 0)) == title_of(table))
            columns = 0
            while isinstance(sheet.cells.get((HEADER_ROW, columns)), str):
                columns += 1
            check_text(table, run(program, trace, "--table", name), answers, columns)
            checked += 1
    if bad or not checked:
        sys.exit(f"{bad} faults in {checked} tables")
    print(f"{checked} tables of {len(traces)} traces begin with names, and show keys and answers, in text, Markdown and workbook")


if __name__ == "__main__":
    main()
