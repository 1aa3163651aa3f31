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
    from openpyxl.utils import range_boundaries
except ImportError:
    print("SKIP: no openpyxl to read the workbook with")
    sys.exit(77)

sys.path.insert(0, __file__.rsplit("/", 1)[0])
from layout import HEADER_ROW, place, scale_of, title_of

EXACT = 2**53


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
    """Cells of a table stand where its JSON and the order of ranks say."""
    bad = n = 0
    heads = []
    while isinstance(sheet.cell(row=HEADER_ROW, column=len(heads) + 1).value, str):
        heads.append(sheet.cell(row=HEADER_ROW, column=len(heads) + 1).value)
    where = dict(place(table, heads)[0])
    formats = {}
    for r, c, value in numbers(table):
        if c not in where:
            continue
        at = sheet.cell(row=HEADER_ROW + 1 + r, column=where[c] + 1)
        cell = at.value
        n += 1
        if isinstance(cell, (int, float)):
            formats.setdefault(c, set()).add(at.number_format)
        if not same(value, cell, scale_of(heads[where[c]], table["columns"][c])):
            bad += 1
            print(f"{sheet.title}, row {r}, {table['columns'][c]['title']}: {cell!r} is not {value!r}")
    for c, found in formats.items():
        if "General" in found:
            bad += 1
            print(f"{sheet.title}, {table['columns'][c]['title']}: number formats {sorted(found)}")
    return n, bad


def check_first_sheet(sheet):
    """It links to every other sheet and back, and has the pictures."""
    links = {c.hyperlink.location.split("!")[0].strip("'") for row in sheet.iter_rows() for c in row if c.hyperlink}
    others = {s.title for s in sheet.parent.worksheets[1:]}
    bad = 0
    if links != others:
        bad += 1
        print(f"links to {sorted(links)}, sheets {sorted(others)}")
    facts = [(row[0].value, row[1].value) for row in sheet.iter_rows(min_col=1, max_col=2)]
    begin = next((i for i, (name, _) in enumerate(facts) if name == "Workload"), len(facts))
    for name, value in facts[begin:]:
        if isinstance(value, str) and value.isdigit():
            bad += 1
            print(f"{name} is the text {value}, which no sum has")
    for s in sheet.parent.worksheets[1:]:
        if not any(c.hyperlink and sheet.title in c.hyperlink.location for c in s[4]):
            bad += 1
            print(f"{s.title}: no link back")
    return bad


def check_form(sheet, table):
    """What people of workbooks expect: frozen heads and names, a filter, widths, paper, folded details."""
    bad = []
    columns = 0
    while isinstance(sheet.cell(row=HEADER_ROW, column=columns + 1).value, str):
        columns += 1
    if not sheet.freeze_panes or sheet[sheet.freeze_panes].row != HEADER_ROW + 1 or sheet[sheet.freeze_panes].column < 2:
        bad.append(f"frozen at {sheet.freeze_panes}")
    area = sheet.auto_filter.ref
    if not area or range_boundaries(area)[:3] != (1, HEADER_ROW, columns):
        bad.append(f"the filter is {area}, of {columns} columns")
    wide = [c for c, d in sheet.column_dimensions.items() if d.width and not 4 <= d.width <= 110]
    if wide:
        bad.append(f"widths of {wide}")
    if not sheet.print_area or sheet.print_title_rows != f"${HEADER_ROW}:${HEADER_ROW}":
        bad.append(f"printed: {sheet.print_area}, heads {sheet.print_title_rows}")
    if not sheet.sheet_properties.pageSetUpPr.fitToPage or sheet.page_setup.fitToWidth not in (None, 1) or int(sheet.page_setup.fitToHeight) != 0:
        bad.append("not one page wide")
    hidden = {k for c, d in sheet.column_dimensions.items() if d.hidden for k in range(d.min, d.max + 1)}
    folded = {k for c, d in sheet.column_dimensions.items() if d.outlineLevel for k in range(d.min, d.max + 1)}
    if hidden - folded:
        bad.append(f"columns {sorted(hidden - folded)} are hidden and in no group")
    for text in bad:
        print(f"{sheet.title}: {text}")
    return len(bad)


ORDER = ("Summary", "Advice", "Idle Time", "Modules", "Ranges", "Kernels", "Classes", "Operations", "Softmax vs Matmul", "Roofline", "Steps", "Memory", "API")


def check_order(book):
    """The most used first; what defines them last."""
    names = [s.title for s in book.worksheets]
    first = [n for n in names if n in ORDER]
    if "Advice" in names and (first != sorted(first, key=ORDER.index) or names[-1] != "Definitions"):
        print(f"sheets in the order {names}")
        return 1
    return 0


def main():
    # it says that it would not write data bars back
    warnings.simplefilter("ignore")
    book = load_workbook(sys.argv[1])
    with open(sys.argv[2], encoding="utf-8") as f:
        report = json.load(f)
    n = bad = 0
    bad += check_first_sheet(book.worksheets[0]) + check_order(book)
    for table in report["tables"].values():
        if table["table"] == "summary":
            continue
        if not table["rows"]:
            continue
        sheet = next(s for s in book.worksheets if s["A1"].value == title_of(table))
        bad += check_form(sheet, table)
        more, wrong = compare_table(sheet, table)
        n, bad = n + more, bad + wrong
    if bad or not n:
        sys.exit(f"{bad} of {n} numbers differ")
    print(f"{n} numbers on {len(book.worksheets)} sheets are as in the JSON")


main()
