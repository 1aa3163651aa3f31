#!/usr/bin/env python3
"""Each column of each table alone is the column of the whole table: what a column needs of a trace
is read for it, too.
columns.py SCENARIO_TRACE TRACE...
"""
import csv
import io
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "scenarios"))
import scenario  # pylint: disable=wrong-import-position


def main(program, *traces):
    program = scenario.Program(program)

    def report(trace, *options):
        made = program.run("report", trace, *options)
        made.check_returncode()
        return made.stdout

    def rows(trace, table, *options):
        return list(csv.reader(io.StringIO(report(trace, "--table", table, "--format", "csv", *options))))

    compared, wrong = 0, []
    for trace in traces:
        for scope in "steps", "all":
            tables = json.loads(report(trace, "--scope", scope, "--format", "json"))["tables"].values()
            for table in tables:
                name, whole = table["table"], rows(trace, table["table"], "--scope", scope)
                for i, column in enumerate(table["columns"]):
                    alone = rows(trace, name, "--scope", scope, "--columns", column["id"])
                    # a row whose only cell is empty is an empty line
                    if [row or [""] for row in alone] != [[row[i]] for row in whole]:
                        wrong.append(f"{trace}, {scope}: {name}, column {column['id']}")
                    compared += len(whole) - 1
    print(f"{compared} cells compared")
    if not compared or wrong:
        sys.exit("\n".join(wrong) or "no table has rows")


if __name__ == "__main__":
    main(*sys.argv[1:])
