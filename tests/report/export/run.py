#!/usr/bin/env python3
"""Scenarios of exports: run.py SCENARIO_TRACE FILE...

Traces are written as ../scenarios/README.md says. What must be so:
  ask, SQL, then lines `= a|b|-`   rows of the export as a database, `-` for NULL
  imported, SQL                    the database is changed by SQL, imported, and exported again: what is asked from here on
  documented PAGE, lines `= …`     the same, a line for each block of SQL on the page
  events [KEY=VALUE…]              the events of the timeline that have these, in their order, a line each: KEY=VALUE…
                                   that it has, `KEY=` what it lacks. args.KEY: of its arguments; ~: a part of the value
  top KEY=VALUE…                   of the timeline itself
  parquet TABLE [OPTION…]          a header of columns, then all rows, an empty cell for NULL
  holds TABLE                      these rows are in it, among others
  fleet TABLE                      the same of two such traces, a and b, in one export
  about TABLE                      each line is one about the file or a column
  files [OPTION…]                  of the folder of Parquet files, a line each
  refused STATUS [OPTION…]         the exit status of that export; each line is part of the message
  said                             each line is part of what the export says
Words with blanks stand in "…", with "" for a quote.
"""
import csv
import json
import os
import re
import shutil
import sqlite3
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
sys.path[:0] = [os.path.join(ROOT, "tests", "report", "scenarios"), os.path.join(ROOT, "tests", "support")]
import scenario  # pylint: disable=wrong-import-position
from parquet_reading import File  # pylint: disable=wrong-import-position


def run_export(source, path, *options):
    return program.run("export", source, "-o", path, *options)


def exported(trace, ending, *options):
    """Path of the export; what it says is in trace.known."""
    path = ".".join((trace.path, *(o.strip("-") for o in options), ending))
    if (path, "said") not in trace.known:
        made = run_export(trace.path, path, *options)
        if made.returncode:
            raise scenario.Wrong(made.stderr.strip())
        trace.known[path, "said"] = made.stdout + made.stderr
    return path


def rows_of(db, query):
    return ["|".join("-" if cell is None else str(cell) for cell in row) for row in db.execute(query)]


def compare(what, wanted, got):
    if wanted != got:
        raise scenario.Wrong(f"{what}\n" + "\n".join("  = " + row for row in got))


def check_ask(part, trace):
    query = "\n".join(line for line in part.lines if not line.startswith("= "))
    with sqlite3.connect(exported(trace, "sqlite")) as db:
        compare(query, [line[2:] for line in part.lines if line.startswith("= ")], rows_of(db, query))


def check_imported(part, trace):
    with sqlite3.connect(exported(trace, "sqlite")) as db:
        db.executescript("\n".join(part.lines))
    db.close()
    trace.path += ".back"
    for command in (["import", trace.path.removesuffix(".back") + ".sqlite", "-o", trace.path], ["check", trace.path]):
        made = program.run(*command)
        if made.returncode:
            raise scenario.Wrong(made.stderr.strip())
        trace.known[command[0], "said"] = made.stdout + made.stderr
    trace.known.pop((trace.path.removesuffix(".back") + ".sqlite", "said"))


def check_documented(part, trace):
    with open(os.path.join(ROOT, part.rest), encoding="utf-8") as page:
        queries = re.findall(r"```sql\n(.*?)```", page.read(), re.DOTALL)
    with sqlite3.connect(exported(trace, "sqlite")) as db:
        compare(part.rest, [line[2:] for line in part.lines], [row for query in queries for row in rows_of(db, query)])


def timeline(trace):
    """Numbers are as they stand in the file."""
    if "timeline" not in trace.known:
        with open(exported(trace, "json"), encoding="utf-8") as f:
            trace.known["timeline"] = json.load(f, parse_float=str)
    return trace.known["timeline"]


def has(event, word):
    key, _, value = word.partition("=")
    part = key.endswith("~")
    key = key.rstrip("~")
    found = event.get("args", {}).get(key[5:]) if key.startswith("args.") else event.get(key)
    if part or not value:
        return value in str(found) if part else found is None
    try:
        value = json.loads(value, parse_float=str)
    except ValueError:
        pass
    return value == found


def check_events(part, trace):
    events = [e for e in timeline(trace)["traceEvents"] if all(has(e, word) for word in scenario.split(part.rest))]
    if len(events) != len(part.lines) or not all(
            all(has(event, word) for word in scenario.split(line)) for event, line in zip(events, part.lines)):
        raise scenario.Wrong(f"events {part.rest} are" + "".join("\n  " + json.dumps(e) for e in events))


def check_top(part, trace):
    top = {key: value for key, value in timeline(trace).items() if key != "traceEvents"}
    for word in scenario.split(part.rest):
        if not has(top, word):
            raise scenario.Wrong(f"{word}: the timeline has {top}")


def compare_parquet(part, path):
    columns, *wanted = csv.reader(part.lines)
    got = File(path).texts(*columns)

    def same(want, row):
        return len(want) == len(row) and all(map(scenario.is_same, want, row))

    if not (all(any(same(want, row) for row in got) for want in wanted) if part.what == "holds" else
            len(wanted) == len(got) and all(map(same, wanted, got))):
        raise scenario.Wrong(f"{part.what} {part.rest} has{scenario.as_csv([columns, *got])}")


def check_parquet(part, trace):
    table, *options = scenario.split(part.rest)
    compare_parquet(part, os.path.join(exported(trace, "parquet", *options), table + ".parquet"))


def check_fleet(part, trace):
    folder, out = trace.path + ".fleet", trace.path + ".fleet.parquet"
    os.mkdir(folder)
    for name in ("a.wtrace", "b.wtrace"):
        shutil.copy(trace.path, os.path.join(folder, name))
    made = run_export(folder, out)
    if made.returncode:
        raise scenario.Wrong(made.stderr.strip())
    compare_parquet(part, os.path.join(out, part.rest + ".parquet"))


def check_about(part, trace):
    lines = File(os.path.join(exported(trace, "parquet"), part.rest + ".parquet")).about()
    for line in part.lines:
        if line not in lines:
            raise scenario.Wrong(f"about {part.rest}: " + ", ".join(lines))


def check_files(part, trace):
    compare("files", sorted(part.lines), sorted(os.listdir(exported(trace, "parquet", *scenario.split(part.rest)))))


def check_refused(part, trace):
    status, *options = scenario.split(part.rest)
    path = trace.path + ".refused.parquet"
    made = run_export(trace.path, path, *options)
    if made.returncode != int(status) or os.path.exists(path) or not all(line in made.stderr for line in part.lines):
        raise scenario.Wrong(f"status {made.returncode}: {made.stderr}")


def check_said(part, trace):
    said = "".join(value for key, value in trace.known.items() if "said" in key)
    for line in part.lines:
        if line not in said:
            raise scenario.Wrong(f"said is {said}")


CHECKS = {"ask": check_ask, "imported": check_imported, "documented": check_documented, "events": check_events, "top": check_top,
          "parquet": check_parquet, "holds": check_parquet, "fleet": check_fleet, "about": check_about,
          "files": check_files, "refused": check_refused, "said": check_said}
program, files = scenario.Program(sys.argv[1]), sys.argv[2:]
failed = False
for file in files:
    try:
        print(f"{file}: {scenario.run_file(program, file, CHECKS)} tests")
    except scenario.Wrong as wrong:
        failed = True
        print(wrong)
sys.exit(failed)
