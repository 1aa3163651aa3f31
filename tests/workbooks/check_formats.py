#!/usr/bin/env python3
"""All tables of a trace in all formats for people: names first, no key or answer hidden, no number that
is not 0 shown as 0.00, the median of a column with two digits at least, no two rows of a tree alike, no fact of the summary left out.

    check_formats.py WARPSHEET TRACE|A+B|FOLDER...

A+B is the comparison of both. Exit status 77: none of them is here.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
import check_xlsx
import page_data
from layout import HEADER_ROW, LEAVES, may_be_left_out, place, title_of

WIDTHS = 100, 160  # of terminals
bad = 0


def complain(text):
    global bad
    bad += 1
    print(text)


def run(program, trace, *args, width=160):
    env = dict(os.environ, COLUMNS=str(width))
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
        if column["rank"] in ("name", "key", "answer") and i in left_out and not may_be_left_out(table, i, words):
            complain(f"{table['table']} in Markdown: no column {column['title']}")
        if column["rank"] in ("detail", "full") and i in seen:
            complain(f"{table['table']} in Markdown: the detail {column['title']}")
    if rest or table["columns"][pairs[0][0]]["rank"] != "name":
        complain(f"{table['table']} in Markdown: begins with {heads[0]}; unknown: {rest}")
    for r, row in enumerate(table["rows"]):
        shown = cells_of(lines[at + 1 + r])
        for i, column in pairs:
            value = row[i]
            if not isinstance(value, (int, float)):
                continue
            if re.fullmatch(r"-?0\.0+|-0", shown[column]) or (value and shown[column] == "0"):
                complain(f"{table['table']}, row {r}, {table['columns'][i]['title']}: {value} is shown as {shown[column]}")
    return len(heads)


def check_text(table, text, answers, columns, width):
    """On a terminal nothing is hidden but details."""
    m = re.search(r"^(\d+) columns? hidden", text, re.M)
    hidden = int(m.group(1)) if m else 0
    if columns - hidden < answers:
        complain(f"{table['table']} on {width} columns: {columns - hidden} of {answers} names, keys and answers")
    wide = [line for line in text.split("\n") if len(line) > width]
    if wide:
        complain(f"{table['table']}: a line is wider than the terminal: {wide[0]}")
    zeros = [line for line in text.split("\n") if re.search(r"(?<![\d.,])-?0\.0+(?![\d.])(?=  |$)", line)]
    if zeros:
        complain(f"{table['table']}: 0.00 in text: {zeros[0]}")


def magnitudes(table, k):
    return sorted(abs(row[k]) for row in table["rows"] if isinstance(row[k], (int, float)) and row[k])


def check_page(table, view):
    """What HTML shows, from the data of the page: the same columns, in units of which the median has digits."""
    # the whole path of a tree comes again behind the details
    hows = [c for n, c in enumerate(view["columns"]) if n == 0 or c["index"] != view["columns"][0]["index"]]
    columns = [table["columns"][c["index"]] for c in hows]
    ranks = [c["rank"] for c in columns]
    if ranks[0] != "name" and not hows[0]["tree"] or any(r in ("detail", "full") for r in ranks[: view["answers"]]) or \
            any(r not in ("detail", "full") for r in ranks[view["answers"]:]):
        complain(f"{table['table']} in HTML: ranks {ranks}, {view['answers']} are shown at first")
    shown = {c["index"] for c in view["columns"]}
    if hows[0]["title"] == LEAVES:
        shown.add(next(i for i, c in enumerate(table["columns"]) if c["id"] == "short_name"))
    for i, column in enumerate(table["columns"]):
        if column["rank"] in ("name", "key", "answer") and i not in shown and not may_be_left_out(table, i, ["Same in all rows: " + (view["same"] or "")]) \
                and not (column["title"].startswith(("Grid", "Block")) or column["title"] in ("X", "Y", "Z")):
            complain(f"{table['table']} in HTML: no column {column['title']}")
    for how, column in zip(hows, columns):
        sizes = magnitudes(table, how["index"])
        # columns that are compared have the unit of the largest
        is_shared = any(h is not how and c["unit"] == column["unit"] and h["exponent"] == how["exponent"] for h, c in zip(hows, columns))
        if how["plain"] or how["mixed"] or not sizes or is_shared:
            continue
        median, least = sizes[len(sizes) // 2] / 10 ** how["exponent"], 10 ** -how["decimals"]
        if median < least / 2:
            complain(f"{table['table']}: the median of {how['title']} is {median:g}, with {how['decimals']} decimals")


def check_tree(table, view):
    """Rows that are seen under the same parent differ in what is seen of them."""
    tree = next((c["index"] for c in view["columns"] if c["tree"]), None)
    if tree is None:
        return
    above, seen = [], {}
    seen_columns = [c["index"] for c in view["columns"][: view["answers"]] if c["index"] != tree]
    for (label, depth), row in zip(view["labels"], table["rows"]):
        del above[depth:]
        above.append(label)
        key = tuple(above), tuple(row[k] for k in seen_columns)
        if key in seen:
            complain(f"{table['table']}: two rows read {' / '.join(above)}: {seen[key]} and {row[tree]}")
        seen[key] = row[tree]


def report_of(program, trace, folder):
    """The JSON, the views of the page and the workbook."""
    run(program, trace, "-o", f"{folder}/r.xlsx")
    run(program, trace, "-o", f"{folder}/r.html")
    page = page_data.read_page(f"{folder}/r.html")[0]
    return json.loads(run(program, trace, "--format", "json")), page["views"], check_xlsx.Workbook(f"{folder}/r.xlsx")


def main():
    program, traces = sys.argv[1], [t for t in sys.argv[2:] if all(os.path.exists(p) for p in t.split("+"))]
    checked = 0
    if not traces:
        print("SKIP: none of these traces is here")
        sys.exit(77)
    for trace in traces:
        with tempfile.TemporaryDirectory() as folder:
            if "+" not in trace and not os.path.isdir(trace) and not trace.endswith(".wtrace"):
                subprocess.run([program, "import", trace, "-o", f"{folder}/t.wtrace"], check=True, capture_output=True)
                trace = f"{folder}/t.wtrace"
            report, views, book = report_of(program, trace, folder)
            if "summary" in report["tables"]:
                check_xlsx.compare_front(book.sheets[0], report["tables"]["summary"])
            for name, table in report["tables"].items():
                if name == "summary" or not table["rows"]:
                    continue
                answers = check_markdown(table, run(program, trace, "--table", name, "--format", "md"))
                sheet = next(s for s in book.sheets if s.cells.get((1, 0)) == title_of(table))
                columns = 0
                while isinstance(sheet.cells.get((HEADER_ROW, columns)), str):
                    columns += 1
                for width in WIDTHS:
                    check_text(table, run(program, trace, "--table", name, width=width), answers, columns, width)
                if len(table["rows"]) <= 1000:  # what a page has
                    check_page(table, views[name])
                    check_tree(table, views[name])
                checked += 1
    if bad or check_xlsx.bad or not checked:
        sys.exit(f"{bad + check_xlsx.bad} faults in {checked} tables")
    print(f"{checked} tables of {len(traces)} traces begin with names, and show keys and answers, in text, Markdown, HTML and workbook")


if __name__ == "__main__":
    main()
