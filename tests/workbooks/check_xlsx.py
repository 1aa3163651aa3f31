#!/usr/bin/env python3
"""Read a workbook back and compare every cell with the JSON of the same report.

    check_xlsx.py [--created TIME] WORKBOOK JSON [RESAVED]

Reads the XML parts with nothing but the standard library, so that it never
has to be skipped. RESAVED is the workbook as another program saved it.
"""
import json
import math
import re
import sys
import xml.etree.ElementTree as ET
import zipfile

from layout import HEADER_ROW, LEAVES, SCALES, SHOWN_ABOVE, TREES, may_be_left_out, place, scale_of, title_of

NS = {
    "m": "http://schemas.openxmlformats.org/spreadsheetml/2006/main",
    "r": "http://schemas.openxmlformats.org/officeDocument/2006/relationships",
    "p": "http://schemas.openxmlformats.org/package/2006/relationships",
    "dc": "http://purl.org/dc/elements/1.1/",
    "dcterms": "http://purl.org/dc/terms/",
    "c": "http://schemas.openxmlformats.org/drawingml/2006/chart",
    "d": "http://schemas.openxmlformats.org/drawingml/2006/spreadsheetDrawing",
}
EXACT = 2**53
CELL_UNITS = 32767

bad = 0


def complain(text):
    global bad
    bad += 1
    if bad <= 20:
        print(text)


def column_number(ref):
    n = 0
    for c in re.match("[A-Z]+", ref).group():
        n = n * 26 + ord(c) - 64
    return n - 1


def unescape(text):
    """What a cell's text means: _x000A_ is a line feed."""
    return re.sub("_x([0-9A-Fa-f]{4})_", lambda m: chr(int(m.group(1), 16)), text)


class Sheet:
    def __init__(self, name, root, strings):
        self.name, self.root = name, root
        self.cells = {}
        self.charts_to = []  # the columns in which its charts end
        for c in root.iterfind(".//m:c", NS):
            if c.find("m:f", NS) is not None:
                complain(f"{name}!{c.get('r')}: a formula")
            v = c.find("m:v", NS)
            if v is None:
                continue
            value = strings[int(v.text)] if c.get("t") == "s" else float(v.text)
            row = int(re.search("[0-9]+", c.get("r")).group())
            self.cells[row, column_number(c.get("r"))] = value


    def titles(self):
        return [v for (_, c), v in self.cells.items() if c == 0]


class Workbook:
    def __init__(self, path):
        with zipfile.ZipFile(path) as z:
            if z.testzip():
                complain("the ZIP archive is damaged")
            # every part must be well-formed XML
            parts = {n: ET.fromstring(z.read(n)) for n in z.namelist()}
        strings = []
        if "xl/sharedStrings.xml" in parts:
            for si in parts["xl/sharedStrings.xml"].iterfind("m:si", NS):
                strings.append(unescape("".join(t.text or "" for t in si.iter() if t.tag.endswith("}t"))))
        rels = {r.get("Id"): r.get("Target") for r in parts["xl/_rels/workbook.xml.rels"]}
        self.book = parts["xl/workbook.xml"]
        self.core = parts["docProps/core.xml"]
        self.charts = [root for n, root in sorted(parts.items()) if n.startswith("xl/charts/chart")]
        self.sheets = []
        for s in self.book.iterfind("m:sheets/m:sheet", NS):
            target = rels[s.get("{%s}id" % NS["r"])]
            sheet = Sheet(s.get("name"), parts["xl/" + target], strings)
            drawing = parts.get(f"xl/drawings/drawing{len([x for x in self.sheets if x.charts_to]) + 1}.xml")
            if sheet.root.find("m:drawing", NS) is not None and drawing is not None:
                sheet.charts_to = [int(t.findtext("d:col", namespaces=NS)) for t in drawing.iter("{%s}to" % NS["d"])]
            self.sheets.append(sheet)


HARMFUL = {0x61C, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A)}


def shown(text):
    """The text as the sheet shall show it; JSON has replaced broken bytes by U+FFFD."""
    out = []
    units = 0
    cut_at = 0
    for c in text:
        code = ord(c)
        if c in "\n\r\t":
            piece = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}[c]
        elif code < 0x20 or 0x7F <= code < 0xA0:
            piece = f"\\x{code:02x}"
        elif code in HARMFUL:
            piece = f"\\u{code:04x}"
        elif code & 0xFFFE == 0xFFFE:
            piece = "\ufffd"
        else:
            piece = c
        out.append(piece)
        units += len(piece.encode("utf-16-le")) // 2
        if units < CELL_UNITS:
            cut_at = len(out)
    if units > CELL_UNITS:
        return "".join(out[:cut_at]) + "…"
    return "".join(out)


def same(value, cell, scale=1):
    """value: from JSON; cell: from the sheet, None when there is none."""
    if scale != 1 and isinstance(value, (int, float)):
        value = value / scale
    if value is None:
        return cell is None
    if isinstance(value, str):
        # an empty text is an empty cell
        return (cell or "") == shown(value)
    if isinstance(value, int) and abs(value) > EXACT:
        return cell == str(value)
    if not isinstance(cell, float) or not math.isfinite(cell):
        return False
    # the library writes 16 digits
    return cell == value or math.isclose(cell, value, rel_tol=1e-15, abs_tol=0.0)


def compare_row(sheet, row, values, columns, pairs, what, scales):
    for i, at in pairs:
        value, column = values[i], columns[i]
        cell = sheet.cells.get((row, at))
        if column["type"] == "number" and isinstance(value, int):
            value = float(value)  # has no point in JSON when it is whole
        if column["id"] in ("grid", "block") and value:
            value = "×".join(value.split())
        if not same(value, cell, scales[i]):
            complain(f"{sheet.name}: {what}, {column['title']}: {cell!r:.80} is not {value!r:.80}")


def hidden_columns(sheet):
    hidden = set()
    for c in sheet.root.iterfind("m:cols/m:col", NS):
        if c.get("hidden") == "1":
            hidden |= set(range(int(c.get("min")) - 1, int(c.get("max"))))
    return hidden


def check_ranks(sheet, columns, pairs):
    """The name is the first column; no name, key or answer is hidden; details are, in a closed group."""
    hidden = hidden_columns(sheet)
    for i, at in pairs:
        rank = columns[i]["rank"]
        if (rank == "name") != (at == 0):
            complain(f"{sheet.name}: column {at} is {columns[i]['title']}, a {rank}")
        if (rank in ("detail", "full")) != (at in hidden):
            complain(f"{sheet.name}: {columns[i]['title']}, a {rank}, is {'' if at in hidden else 'not '}hidden")


def check_tree(sheet, table, rows, path):
    """Each row is the last part of its path, or its kernel, indented; no two of one parent are alike."""
    alike = set()
    leaf = next((i for i, c in enumerate(table["columns"]) if c["id"] == "short_name"), None)
    at = table["columns"].index(next(c for c in table["columns"] if c["id"] == "path"))
    for r, values in enumerate(rows):
        label = sheet.cells.get((HEADER_ROW + 1 + r, 0))
        if path is not None and sheet.cells.get((HEADER_ROW + 1 + r, path)) != shown(values[at]):
            complain(f"{sheet.name}: row {r} has not its path {values[at]!r:.80}")
        parent = values[at].rsplit("/", 1)[0] if "/" in values[at] else ""
        if leaf is not None and values[leaf]:
            parent = values[at]
            if label != shown(values[leaf]):
                complain(f"{sheet.name}: row {r} is {label!r}, not {values[leaf]!r}")
        key = parent, label, leaf is not None and values[leaf], *values[at + 1:at + 3]
        if not label or key in alike:
            complain(f"{sheet.name}: row {r}, {label!r}, is another's: {values[at]!r:.80}")
        alike.add(key)


def compare_sheet(sheet, table, first):
    columns, rows = table["columns"], table["rows"]
    if sheet.cells.get((1, 0)) != title_of(table) or sheet.cells.get((2, 0)) != table["what"]:
        complain(f"{sheet.name}: not headed as {title_of(table)!r}")
    heads = []
    while isinstance(sheet.cells.get((HEADER_ROW, len(heads))), str):
        heads.append(sheet.cells[HEADER_ROW, len(heads)])
    pairs, path, left_out, rest = place(table, heads)
    words = [v for v in sheet.cells.values() if isinstance(v, str)]
    for i in left_out:
        if not may_be_left_out(table, i, words):
            complain(f"{sheet.name}: no column {columns[i]['title']!r}")
    if rest:
        complain(f"{sheet.name}: columns that nobody knows: {rest}")
    scales = [1] * len(columns)
    for i, at in pairs:
        scales[i] = scale_of(heads[at], columns[i])
    check_ranks(sheet, columns, pairs)
    if heads and heads[0] in TREES and pairs[0][1] == 0 and (heads[0] == LEAVES or columns[pairs[0][0]]["id"] == "path"):
        check_tree(sheet, table, rows, path)
        pairs = pairs[1:]
    for r, values in enumerate(rows):
        compare_row(sheet, HEADER_ROW + 1 + r, values, columns, pairs, f"row {r}", scales)
    end = HEADER_ROW + len(rows)
    if table["totals"]:
        if sheet.cells.get((end + 1, 0)) is None:
            complain(f"{sheet.name}: the total has no name")
        compare_row(sheet, end + 1, table["totals"], columns, [p for p in pairs if p[1]], "totals", scales)
    text = " ".join(words)
    for note in table["notes"]:
        if shown(note) not in text:
            complain(f"{sheet.name}: the note is missing: {note}")
    pane = sheet.root.find("m:sheetViews/m:sheetView/m:pane", NS)
    if pane is None or pane.get("ySplit") != str(HEADER_ROW) or pane.get("state") != "frozen":
        complain(f"{sheet.name}: the header is not frozen")
    autofilter = sheet.root.find("m:autoFilter", NS)
    if autofilter is None or not autofilter.get("ref").endswith(str(end)):
        if rows:
            complain(f"{sheet.name}: the filter does not reach to the last row")


def compare_front(sheet, table):
    """Below the first screen: the sections that it does not have, each line with its numbers and text. Where a line of
    a section has several numbers, all stand under heads; else the one stands before its unit."""
    columns = [c["id"] for c in table["columns"]]
    numbers = ("count", "time_ns", "share", "value")
    lines = [dict(zip(columns, values)) for values in table["rows"]]
    section = row = None
    for line in lines:
        if line["section"] in SHOWN_ABOVE:
            continue
        if line["section"] != section:
            section = line["section"]
            row = max((r for (r, c), v in sheet.cells.items() if c == 0 and v == shown(section)), default=None)
            if row is None:
                complain(f"{sheet.name}: no section {section}")
                return
            alike = [other for other in lines if other["section"] == section]
            heads = [c for c in numbers if any(other[c] is not None for other in alike)]
            if max(sum(other[c] is not None for c in numbers) for other in alike) < 2:
                heads = []
            row += bool(heads)
            titles = [sheet.cells.get((row, 1 + i)) for i in range(len(heads))]
            for c, title in zip(heads, titles):
                if not isinstance(title, str) or not title.startswith(table["columns"][columns.index(c)]["title"].split(" (")[0]):
                    complain(f"{sheet.name}: {section}: the head of {c} is {title!r}")
                    return
        row += 1
        if sheet.cells.get((row, 0)) != shown(line["item"] or ""):
            complain(f"{sheet.name}: row {row} is not {line['item']!r:.60}")
        found = [(line[c], sheet.cells.get((row, 1 + i)), scale_of(title, table["columns"][columns.index(c)])) for i, (c, title) in enumerate(zip(heads, titles))]
        if not heads:
            found = [(line[c], sheet.cells.get((row, 1)), SCALES.get(sheet.cells.get((row, 2)), 1)) for c in numbers if line[c] is not None]
        for value, cell, scale in found:
            if cell is not None if value is None else not same(float(value), cell, scale):
                complain(f"{sheet.name}: {line['item']!r:.60}: {cell!r} is not {value!r}")
        if section == "Workload" and re.fullmatch(r"\d{1,15}", line["text"] or ""):
            if sheet.cells.get((row, 1)) != float(line["text"]):
                complain(f"{sheet.name}: {line['item']!r:.60}: {sheet.cells.get((row, 1))!r} is not the number {line['text']}")
        elif line["text"] and sheet.cells.get((row, 1 + len(heads) if heads else 3 if found else 1)) != shown(line["text"]):
            complain(f"{sheet.name}: {line['item']!r:.60}: not {line['text']!r:.60}")
    for note in table["notes"]:
        if shown(note) not in sheet.cells.values():
            complain(f"{sheet.name}: the note is missing: {note}")
    check_bar(sheet)
    check_long_names(sheet)


def check_left_out(sheet, left_out):
    """The first sheet names the tables without a sheet."""
    said = [v for v in sheet.cells.values() if str(v).startswith("Without rows, so without a sheet: ")]
    if len(said) != (left_out > 0) or (said and said[0].count(",") != left_out):
        complain(f"{left_out} tables are left out, and the first sheet says {said}")


def check_bar(sheet):
    """The parts of the bar add up to the step that the figures say."""
    for row, col in [at for at, v in sheet.cells.items() if v == "Cells of the bar"]:
        parts = []
        while isinstance(sheet.cells.get((row + 1 + len(parts), col + 1)), float):
            parts.append(sheet.cells[row + 1 + len(parts), col + 1])
        unit = re.search(r"\((.*)\)$", sheet.cells[row, col + 1]).group(1)
        step = next(v for (r, c), v in sheet.cells.items()
                    if re.fullmatch(r"(step|run)(, .*)?", str(sheet.cells.get((r + 1, c)))) and re.fullmatch(r"[\d.]+ \S+", str(v)))
        value, name = step.split(" ")
        if not math.isclose(sum(parts) * SCALES.get(unit, 1), float(value) * SCALES.get(name, 1), rel_tol=0.01):
            complain(f"{sheet.name}: the bar has {sum(parts)} {unit}, the step {step}")


def check_long_names(sheet):
    """A name is whole, in as many lines as it takes: cut, two may read alike."""
    high = {int(r.get("r")): float(r.get("ht", 15)) for r in sheet.root.iter("{%s}row" % NS["m"])}
    for (row, col), v in sheet.cells.items():
        if not col and len(str(v)) > 55 and isinstance(sheet.cells.get((row, 3)), float) and not isinstance(sheet.cells.get((row, 1)), float) and high[row] < 20:
            complain(f"{sheet.name}: {v!r} is cut")


def compare_answers(book, report):
    """The first sheet of a comparison or of ranks: links to all others, and bars that add up from A to B."""
    sheet = book.sheets[0]
    table = report["tables"].get("diff-waterfall")
    if not table or not table["rows"]:
        return
    columns = [c["id"] for c in table["columns"]]
    total = next(r for r in table["rows"] if r[columns.index("group")] == "total")
    (row, col), = (at for at, v in sheet.cells.items() if v == "Cells of the bars")
    unit = {"ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9}[re.search(r"\((.*)\)$", sheet.cells[row, col + 2]).group(1)]
    bars = []
    while isinstance(sheet.cells.get((row + 1 + len(bars), col)), str):
        bars.append([sheet.cells.get((row + 1 + len(bars), col + 1 + k)) or 0.0 for k in range(4)])
    level = bars[0][1]
    for below, whole, less, more in bars[1:-1]:
        if whole or not math.isclose(below, level - less, rel_tol=1e-6, abs_tol=1e-6):
            complain(f"a bar of the waterfall stands on {below}, not on {level - less}")
        level += more - less
    for got, want in ((bars[0][1], "a_ns"), (level, "b_ns"), (bars[-1][1], "b_ns")):
        if not math.isclose(got * unit, total[columns.index(want)], rel_tol=1e-6):
            complain(f"the waterfall has {got} {want}, the table {total[columns.index(want)]}")


PAPER = {"landscape": 11.69 - 0.8, "portrait": 8.27 - 0.8}  # inches between the margins


def check_paper(book, sheet):
    """One page wide, with letters of 7 points at least; charts end within it. Or nothing: one cell in a hidden column."""
    defined = [d.text for d in book.book.iterfind("m:definedNames/m:definedName", NS) if d.get("name") == "_xlnm.Print_Area"]
    area = next((re.search(r"!\$([A-Z]+)\$\d+:\$([A-Z]+)\$\d+$", d) for d in defined
                 if d.split("!")[0].strip("'") == sheet.name), None)
    setup = sheet.root.find("m:pageSetup", NS)
    if any(d.split("!")[0].strip("'") == sheet.name and d.endswith("!$XFD$1") for d in defined):
        if not any(c.get("min") == "16384" and c.get("hidden") == "1" for c in sheet.root.iterfind("m:cols/m:col", NS)):
            complain(f"{sheet.name}: an empty cell is printed")
        return
    if area is None or setup is None:
        complain(f"{sheet.name}: does not say what of it is printed")
        return
    last = column_number(area.group(2))
    if setup.get("fitToWidth", "1") != "1" or setup.get("fitToHeight") != "0":
        complain(f"{sheet.name}: not one page wide and as many high as needed")
    widths = {}
    for c in sheet.root.iterfind("m:cols/m:col", NS):
        for i in range(int(c.get("min")) - 1, int(c.get("max"))):
            widths[i] = 0 if c.get("hidden") == "1" else float(c.get("width"))
    inches = sum(widths.get(i, 9.14) * 7 for i in range(last + 1)) / 96
    if inches * 7 / 11 > PAPER[setup.get("orientation", "portrait")]:
        complain(f"{sheet.name}: printed with letters of {11 * PAPER[setup.get('orientation', 'portrait')] / inches:.1f} points")
    for to in sheet.charts_to:
        if to > last:
            complain(f"{sheet.name}: a chart ends in column {to}, the page in {last}")


def compare_names(book, report):
    names = [s.name for s in book.sheets]
    if len({n.casefold() for n in names}) != len(names):
        complain(f"two sheets have one name: {names}")
    for n in names:
        if not 1 <= len(n) <= 31 or not n.isascii() or set(n) & set("[]:*?/\\'"):
            complain(f"a bad sheet name: {n!r}")
    defined = [d.get("name") for d in book.book.iterfind("m:definedNames/m:definedName", NS)]
    for table in report["tables"].values():
        if table["rows"] and not any(d.startswith("ws_") for d in defined):
            complain("no defined name for a table")


def range_of(formula):
    """Sheet, rows and columns of 'Kernel Summary'!$A$6:$A$15."""
    m = re.fullmatch(r"(?:'([^']+)'|([^'!]+))!\$([A-Z]+)\$(\d+)(?::\$([A-Z]+)\$(\d+))?", formula)
    if not m:
        return None
    first, last = int(m.group(4)), int(m.group(6) or m.group(4))
    column = column_number(m.group(3))
    return m.group(1) or m.group(2), range(first, last + 1), column


def check_series(book, chart, series, logarithmic):
    for part in ("c:val", "c:yVal", "c:xVal"):
        formula = series.findtext(f"{part}/c:numRef/c:f", namespaces=NS)
        if formula is None:
            continue
        where = range_of(formula)
        sheet = next((s for s in book.sheets if where and s.name == where[0]), None)
        if sheet is None:
            complain(f"chart {chart}: {formula} is on no sheet")
            continue
        values = [sheet.cells.get((row, where[2])) for row in where[1]]
        if any(isinstance(v, str) for v in values) or not any(isinstance(v, float) for v in values):
            complain(f"chart {chart}: {formula} holds no numbers")
        if logarithmic and any(not v or v <= 0 for v in values):
            complain(f"chart {chart}: {formula} has no place on a logarithmic axis")


def check_charts(book):
    """Every chart has a title and axes with names, and shows numbers that are there."""
    for root in book.charts:
        title = "".join(t.text or "" for t in root.find("c:chart/c:title", NS).iter() if t.tag.endswith("}t"))
        logarithmic = root.find(".//c:logBase", NS) is not None
        series = root.findall(".//c:ser", NS)
        if not title or not series:
            complain(f"a chart without title or series: {title!r}")
        if not root.findall(".//c:valAx/c:title", NS):
            complain(f"chart {title}: its numbers have no unit")
        for s in series:
            check_series(book, title, s, logarithmic)


def header_of(sheet, rows, column):
    """The header above rows of a table on a sheet that may have several: the next text above them."""
    for row in range(rows[0] - 1, 0, -1):
        text = sheet.cells.get((row, column))
        if isinstance(text, str) and (not sheet.cells.get((row, column - 1)) or isinstance(sheet.cells[(row, column - 1)], str)):
            return text
    return ""


def text_of(node):
    return "".join(t.text or "" for t in node.iter() if t.tag.endswith("}t") or t.tag.endswith("}v")) if node is not None else ""


def rows_of_chart(book, root, part=".//c:ser/c:val"):
    """The sheet, the rows and the column of what a chart, or a part of it, shows first."""
    where = range_of(root.find(part, NS).findtext("c:numRef/c:f", namespaces=NS))
    return next(s for s in book.sheets if s.name == where[0]), where[1], where[2]


def column_of(sheet, rows, title):
    """Cells of these rows in the column with this header."""
    for row in range(rows[0] - 1, 0, -1):
        found = [c for (r, c), v in sheet.cells.items() if r == row and v == title]
        if found:
            return [sheet.cells.get((r, found[0])) for r in rows]
    return []


def check_truth(book):
    """What titles and axes say is so in the cells that the chart shows."""
    for root in book.charts:
        for s in root.findall(".//c:ser", NS):
            device = re.fullmatch(r"Device (\d+)", text_of(s.find("c:tx", NS)))
            if device:
                sheet, rows, _ = rows_of_chart(book, s, "c:yVal")
                if set(column_of(sheet, rows, "Device")) != {float(device.group(1))}:
                    complain(f"a line of device {device.group(1)} is of others, too")
        if root.find(".//c:ser/c:val", NS) is None:
            continue
        title = text_of(root.find("c:chart/c:title", NS))
        axes = [text_of(a.find("c:title", NS)) for a in (*root.findall(".//c:valAx", NS), *root.findall(".//c:catAx", NS))]
        sheet, rows, column = rows_of_chart(book, root)
        units = set()
        for f in root.findall(".//c:ser/c:val/c:numRef/c:f", NS):
            where = range_of(f.text)
            found = re.search(r"\([^()]+\)$", header_of(sheet, where[1], where[2]))
            units.add(found.group(0) if found else "")
        # boxes of an icicle are shares, in columns that the bar's cells stand above
        if len(units) > 1 and not title.startswith("Parts of the model"):
            complain(f"chart {title}: its numbers have several units: {sorted(units)}")
        unit = re.search(r"\([^()]+\)$", header_of(sheet, rows, column))
        if unit and not any(a.endswith(unit.group(0)) for a in axes):
            complain(f"chart {title}: no axis has the unit {unit.group(0)} of its column: {axes}")
        if title.startswith("Time of each measured step"):
            numbers = column_of(sheet, rows, "Step")
            if (set(column_of(sheet, rows, "Warm-up")) != {"no"} and not says_of_all(sheet, "Warm-up no")) or sorted(set(numbers)) != numbers:
                complain(f"chart {title}: its steps are {numbers}, not each measured one once")
        for phase in ("forward", "backward"):
            if title.endswith(", " + phase) and set(column_of(sheet, rows, "Phase")) != {phase} and not says_of_all(sheet, f"Phase {phase}"):
                complain(f"chart {title}: not all of its rows are of {phase}")


def says_of_all(sheet, what):
    """A column that is the same in all rows is left out, and a note says so."""
    return any(isinstance(v, str) and v.startswith("Same in all rows: ") and what in v for v in sheet.cells.values())


def compare_resaved(book, path):
    """Another program has opened the workbook and saved it again: the values are the same."""
    for sheet, other in zip(book.sheets, Workbook(path).sheets):
        for at in sheet.cells.keys() | other.cells.keys():
            mine, its = sheet.cells.get(at), other.cells.get(at)
            equal = mine == its or (mine or "") == (its or "")
            if isinstance(mine, float) and isinstance(its, float):
                equal = equal or math.isclose(mine, its, rel_tol=1e-14, abs_tol=0.0)
            if not equal:
                complain(f"{sheet.name} {at}: {mine!r:.80} was read as {its!r:.80}")


def main():
    args = sys.argv[1:]
    created = args[1] if args[0] == "--created" else None
    path, json_path, *resaved = args[2:] if created else args
    with open(json_path, encoding="utf-8") as f:
        report = json.load(f)
    book = Workbook(path)
    left_out = 0
    front = None
    has_answers = "summary" not in report["tables"] and book.sheets[0].name == "Summary"
    for i, table in enumerate(report["tables"].values()):
        if (i or has_answers) and not table["rows"]:
            left_out += 1
            continue
        sheet = book.sheets[0] if not i and not has_answers else next(
            (s for s in book.sheets[1:] if title_of(table) in s.titles()), None)
        if sheet is None:
            complain(f"no sheet has the table {title_of(table)!r}")
        elif table["table"] == "summary":
            front = sheet, table
        else:
            compare_sheet(sheet, table, i == 0 and not has_answers)
    if len(report["tables"]) > 1:
        check_left_out(book.sheets[0], left_out)
    if front or has_answers:
        compare_front(*front) if front else compare_answers(book, report)
    for sheet in book.sheets:
        check_paper(book, sheet)
    compare_names(book, report)
    check_charts(book)
    check_truth(book)
    if book.core.findtext("dc:title", namespaces=NS) != shown(report["title"]):
        complain("the title property is wrong")
    if created and book.core.findtext("dcterms:created", namespaces=NS) != created:
        complain("the date is not the trace's")
    for other in resaved:
        compare_resaved(book, other)
    if bad:
        sys.exit(f"{bad} differences")
    cells = sum(len(s.cells) for s in book.sheets)
    print(f"{cells} cells on {len(book.sheets)} sheets are as in the JSON, {len(book.charts)} charts show what is there")


if __name__ == "__main__":
    main()
