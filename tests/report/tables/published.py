"""Tables and advice of traces that others recorded, beside what others published of them: published.txt, ../advice/judged.txt.

    python3 published.py SCENARIO_TRACE FOLDER [PAGE]

FOLDER: fixtures/ or ../shared/data/; exit status 77 where it is not there. PAGE, docs/reference/advice.md, names traces where each rule
fires or not: its section is made of judged.txt, and with UPDATE_DOCS in the environment it is written.
"""
import decimal
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "scenarios"))
import scenario  # pylint: disable=wrong-import-position

# names of memory operations up to Nsight Systems 2022.2, and since
RENAMED = {"[CUDA Unified Memory memcpy HtoD]": "[CUDA memcpy Unified Host-to-Device]",
           "[CUDA Unified Memory memcpy DtoH]": "[CUDA memcpy Unified Device-to-Host]",
           "[CUDA memcpy HtoD]": "[CUDA memcpy Host-to-Device]", "[CUDA memcpy DtoH]": "[CUDA memcpy Device-to-Host]"}


def lines_of(path):
    with open(os.path.join(HERE, path), encoding="utf-8") as f:
        return [line.rstrip("\n") for line in f if line.strip() and line[0] != "#"]


def rounded(value, digits):
    """Halves away from zero, as SQLite has it."""
    return str(decimal.Decimal(value).quantize(decimal.Decimal(1).scaleb(-digits), decimal.ROUND_HALF_UP))


def as_published(cell, like):
    """The cell with as many digits as that has: `5.`, `5.25`."""
    if cell is None or isinstance(cell, str):
        return cell or "nothing"
    _, point, digits = like.partition(".")
    return (rounded(cell, len(digits)) if point or isinstance(cell, float) else str(cell)) + ("." if point and not digits else "")


def check_row(table, line):
    where, _, wanted = line.partition("|")
    rows = [dict(zip((c["id"] for c in table["columns"]), row)) for row in table["rows"]]
    for word in scenario.split(where.strip())[1:]:
        column, _, value = word.partition("=")
        rows = [row for row in rows if row[column] == value]
    for word in scenario.split(wanted.strip()):
        column, _, value = word.partition("=")
        got = as_published(rows[0][column], value) if rows else "no row"
        if got != value:
            yield f"{column}: {value} is published, not {got}"


def printed_rows(path, heading):
    """Below the heading up to the empty line behind the rows: numbers without thousands separators, and the name."""
    with open(path, encoding="utf-8") as f:
        below = f.read().split(heading, 1)[1]
    rows = re.search(r"(?:^ *\d.*\n)+", below, re.M)[0]
    return [row.split() for row in rows.splitlines()]


def check_printed(table, words, numbers, count):
    columns = table["columns"]
    if len(table["rows"]) != int(count) or len(words) != int(count):
        yield f"{len(table['rows'])} rows, printed are {len(words)}"
    for row, printed in zip(table["rows"], words):
        for column, cell, want in zip(columns[:numbers], row, printed):
            megabytes = "(MB)" in column["title"]  # three decimals; what is computed of times has one, times have none
            digits = 3 if megabytes else 1 if column["type"] == "number" else 0
            got = rounded(cell, digits) if megabytes or column["type"] == "number" else str(cell)
            # a mean that is a whole number is printed with its decimal
            if got != want.replace(",", "") and f"{got}.0" != want.replace(",", ""):
                yield f"{column['title']}: {want} is printed, not {got}"
        name = RENAMED.get(" ".join(printed[numbers:]), " ".join(printed[numbers:]))
        if not (row[numbers].startswith(name[:-1]) if name.endswith("…") else row[numbers] == name):
            yield f"{name} is printed, not {row[numbers]}"


def check_published(program, folder):
    trace = None
    for line in lines_of("published.txt"):
        what, name, *more = scenario.split(line)
        if what == "file":
            path = os.path.join(folder, name)
            is_here = name.startswith(("kineto", "nsys")) != os.path.isdir(os.path.join(folder, "imports"))
            trace = scenario.Trace(program, {"a": path}) if is_here else None
            continue
        if not trace:
            continue
        if what == "printed":
            print_path = trace.path.removesuffix(".sqlite") + ".nsys-stats.txt"
            wrong = check_printed(trace.table(name), printed_rows(print_path, more[2]), int(more[0]), more[1])
        elif what == "notes":
            notes = " ".join(trace.table(name)["notes"])
            wrong = [f"no note has {part}" for part in more if part not in notes]
        else:
            wrong = check_row(trace.table(what), line)
        yield from (f"{trace.path}, {line.split(' |')[0]}: {why}" for why in wrong)


def judged():
    """Traces that programs recorded, and tests by rule: [name, those that fire, those that are quiet]."""
    lines = [line.split(":", 1)[0:1] + [part.split() for part in re.split(r":(?!:)", line.split(":", 1)[1])]
             for line in lines_of("../advice/judged.txt")]
    return [line for line in lines if "/" in line[0]], [line for line in lines if "/" not in line[0]]


def check_judged(program, folder):
    for name, fires, quiet in judged()[0]:
        if name.startswith(("kineto", "nsys")) == os.path.isdir(os.path.join(folder, "imports")):
            continue
        table = scenario.Trace(program, {"a": os.path.join(folder, name)}).table("advice --scope steps")
        found = {row[0] for row in table["rows"]} | {rule for n in table["notes"] if "alternatives" in n for rule in re.findall(r"\((A\d+)\)", n)}
        said = scenario.quiet_rules(table["notes"])
        for what, want, got in (("fire", set(fires), found), ("find nothing", set(quiet), said - found)):
            if want != got:
                yield f"{name}: {' '.join(sorted(want ^ got))}: {what} there or here alone"


def page():
    traces, rules = judged()
    for rule, fires, quiet, *lacking in rules:
        of = [[name.split(".")[0] for name, *lists in traces if rule in lists[i]] for i in (0, 1)]
        if bool(of[1]) == bool(lacking):
            raise SystemExit(f"{rule}: no trace where it is quiet, and no reason for that, or both")
        hand = fires if fires == quiet else fires + quiet
        yield f"| {rule} | {', '.join(of[0][:2])} | {', '.join(of[1][:2]) or ' '.join(lacking[0])} | {', '.join(f'`{name}`' for name in hand)} |\n"


def check_page(path):
    with open(path, encoding="utf-8") as f:
        text = f.read()
    made = "| rule | fires on | is quiet on | by hand |\n|---|---|---|---|\n" + "".join(page())
    new = re.sub(r"(begin traces -->\n).*?(<!-- end traces -->)", lambda m: m[1] + made + m[2], text, flags=re.S)
    if new != text and os.environ.get("UPDATE_DOCS"):
        with open(path, "w", encoding="utf-8") as f:
            f.write(new)
    elif new != text:
        yield f"{path}: the section traces is not that of judged.txt: run/update docs"
    if re.findall(r"^\| (A\d+) \|", text.split("begin rules")[1].split("end rules")[0], re.M) != [rule for rule, *_ in judged()[1]]:
        yield f"{path}: rules are not those of judged.txt"


def main(program, folder, *pages):
    if not os.path.isdir(folder):
        print("SKIP: no folder", folder)
        return 77
    program = scenario.Program(program)
    wrong = [*check_published(program, folder), *check_judged(program, folder), *(why for p in pages for why in check_page(p))]
    print("\n".join(wrong) or "as published")
    return wrong != []


sys.exit(main(*sys.argv[1:]))
