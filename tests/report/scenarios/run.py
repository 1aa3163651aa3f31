#!/usr/bin/env python3
"""Scenarios as README.md tells: run.py SCENARIO_TRACE FILE..."""
import os
import sys

import scenario

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "sql"))
import oracle  # pylint: disable=wrong-import-position


def check_sql(_, trace):
    """The tables are those that SQL makes of an export."""
    wrong = list(oracle.wrongs(program, trace.path))
    if wrong:
        raise scenario.Wrong("\n".join(wrong))


program, files = scenario.Program(sys.argv[1]), sys.argv[2:]
failed = False
for path in files:
    try:
        print(f"{path}: {scenario.run_file(program, path, {'sql': check_sql})} tests")
    except scenario.Wrong as wrong:
        failed = True
        print(wrong)
sys.exit(failed)
