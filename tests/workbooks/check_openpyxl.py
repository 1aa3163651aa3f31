#!/usr/bin/env python3
"""Read a workbook with openpyxl and compare every number with the JSON of the same report.

    check_openpyxl.py WORKBOOK JSON

A second reader beside check_xlsx.py, which knows the XML. Exit status 77: openpyxl is not here.
"""
import json
import math
import sys
import warnings

try:
    from openpyxl import load_workbook
except ImportError:
    print("SKIP: no openpyxl to read the workbook with")
    sys.exit(77)

sys.path.insert(0, __file__.rsplit("/", 1)[0])
from check_xlsx import scale_of

HEADER_ROW = 5
EXACT = 2**53


def title_of(table):
    """As people see it: of a comparison with the names of its sides for A and B."""
    return " ".join(table["sides"]["AB".index(w)] if "sides" in table and w in ("A", "B") else w
                    for w in table["title"].split(" "))


def same(value, cell, scale=1):
    if scale != 1:
        value = value / scale
    if isinstance(value, int) and abs(value) > EXACT:
        return cell == str(value)
    return isinstance(cell, (int, float)) and math.isclose(cell, value, rel_tol=1e-15, abs_tol=0.0)


def numbers(table):
    """A real number has no point in JSON when it is whole."""
    for r, row in enumerate(table["rows"]):
        for c, value in enumerate(row):
            if isinstance(value, (int, float)):
                yield r, c, float(value) if table["columns"][c]["type"] == "number" else value


def compare_table(sheet, table):
    """Cells of a table stand where its JSON says."""
    bad = n = 0
    top = next(row for row in range(1, sheet.max_row + 1) if sheet.cell(row=row, column=1).value == title_of(table))
    header = top + HEADER_ROW - 1
    scales = [scale_of(sheet.cell(row=header, column=i + 1).value, c) for i, c in enumerate(table["columns"])]
    for r, c, value in numbers(table):
        cell = sheet.cell(row=header + 1 + r, column=c + 1).value
        n += 1
        if not same(value, cell, scales[c]):
            bad += 1
            print(f"{sheet.title}, row {r}, {table['columns'][c]['title']}: {cell!r} is not {value!r}")
    return n, bad


def compare_page(sheet, table):
    """The lines of a page come in order, with headings and blank lines between."""
    scales = [scale_of(sheet.cell(row=HEADER_ROW, column=i + 1).value, c)
              for i, c in enumerate(table["columns"][1:])]
    lines = [row for row in sheet.iter_rows(min_row=HEADER_ROW + 1, values_only=True)]
    at = bad = n = 0
    for row in table["rows"]:
        wanted = [v / k if k != 1 else v for v, k in zip(row[1:], scales) if isinstance(v, (int, float))]
        if not wanted:
            continue
        n += len(wanted)
        width = len(row) - 1
        while at < len(lines):
            found = [v for v in lines[at][:width] if isinstance(v, (int, float))]
            at += 1
            if len(found) == len(wanted) and all(same(w, f) for w, f in zip(wanted, found)):
                break
        else:
            bad += 1
            print(f"{sheet.title}: no line for {row[:2]}")
            at = 0
    return n, bad


def main():
    # it says that it would not write data bars back
    warnings.simplefilter("ignore")
    book = load_workbook(sys.argv[1])
    with open(sys.argv[2], encoding="utf-8") as f:
        report = json.load(f)
    n = bad = 0
    for table in report["tables"].values():
        page = table["table"] == "summary"
        if not page and not table["rows"]:
            continue
        sheet = book.worksheets[0] if page else next(
            s for s in book.worksheets
            if any(c.value == title_of(table) for c in s["A"]))
        more, wrong = (compare_page if page else compare_table)(sheet, table)
        n, bad = n + more, bad + wrong
    if bad or not n:
        sys.exit(f"{bad} of {n} numbers differ")
    print(f"{n} numbers on {len(book.worksheets)} sheets are as in the JSON")


main()
