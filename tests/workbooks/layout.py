"""Where a table of the JSON of a report stands on its sheet, as people see it: names first, then keys,
answers and details; columns that say nothing are left out."""
import re

HEADER_ROW = 5
RANKS = ["name", "key", "answer", "detail", "full"]
LEAVES = "Range, Kernel"  # a row is a range, or a kernel inside it
TREES = ("Module", "Range", LEAVES)
# sections of the table `summary` that the first screen shows better
SHOWN_ABOVE = {"GPU time by class", "Top kernels", "Why the device is idle", "What to do"}
# what a unit in a header is, in that of the JSON
SCALES = {"µs": 1e3, "ms": 1e6, "s": 1e9, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12,
          "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
DATA_UNITS = {"us": 1e3, "MB": 1e6}


def sided(table, text):
    """A comparison has the names of its sides for A and B."""
    if "sides" not in table:
        return text
    return " ".join(table["sides"]["AB".index(w)] if w in ("A", "B") else w for w in text.split(" "))


def title_of(table):
    return sided(table, table["title"])


def bare(title):
    """A header without its unit: the sheet's may differ from the JSON's."""
    return re.sub(r" \([^()]*\)$", "", title or "")


def scale_of(header, column):
    """How many of the JSON's units are one of the sheet's."""
    m = re.search(r"\(([^()]+)\)$", header or "")
    if not m or column["title"].endswith(m.group(0)):
        return 1
    return SCALES.get(m.group(1), 1) / DATA_UNITS.get(column["unit"], 1)


# Times of the host stand beside windows of the device; programs read the titles that they always had.
OF_HOST = ("forward_ns", "loss_ns", "backward_ns", "optimizer_ns", "remainder_ns")


def shown_title(table, i):
    column = table["columns"][i]
    beside_windows = any(c["id"] == "window_" + column["id"] for c in table["columns"])
    return ("Host " if column["id"] in OF_HOST and beside_windows else "") + column["title"]


def place(table, heads):
    """[(column of the JSON, column of the sheet)], the column of the sheet with whole paths or None, and
    those of the JSON that are left out. heads: headers of the sheet from its left on."""
    order = sorted(range(len(table["columns"])), key=lambda i: (RANKS.index(table["columns"][i]["rank"]), i))
    pairs, left_out, at, path = [], [], 0, None
    for i in order:
        if heads and heads[0] == LEAVES and table["columns"][i]["id"] == "path":
            continue  # seen as the rows above
        title = bare(sided(table, shown_title(table, i)))
        if at < len(heads) and (bare(heads[at]) in (title, re.sub("^GPU ", "Kernel ", title)) or (at == 0 and heads[0] in TREES)):
            pairs.append((i, at))
            at += 1
        else:
            left_out.append(i)
    if heads and heads[0] in TREES and at < len(heads) and heads[at] == "Path":
        path = at
        at += 1
    return pairs, path, left_out, heads[at:]


def may_be_left_out(table, i, words):
    """Says column i nothing? words: all texts of the sheet."""
    values = [row[i] for row in table["rows"]]
    column = table["columns"][i]
    if all(v is None for v in values):
        return True
    if any(v != values[0] for v in values):
        return column["rank"] in ("detail", "full") and any(
            values == [row[k] for row in table["rows"]] for k in range(len(table["columns"])) if k != i)
    if column["rank"] in ("detail", "full") and column["type"] != "text":
        return True
    title = sided(table, column["title"])
    return any(w.startswith("Same in all rows: ") and f"{column['title']} " in w or f"{title} " in w for w in words)
