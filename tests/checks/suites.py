#!/usr/bin/env python3
"""ctest runs the suite NAME of a file test_NAME.c: no other suite may stand in it, or its tests
never run. And no folder of tests holds too many files.
suites.py ROOT   prints each offence; exit 1 when there is one
"""
import os
import re
import sys

SUITE = re.compile(r"^(?:Test|TestSuite|Theory|ParameterizedTest)\((?:[^,()]*\*\s*\w+,\s*)?(\w+)", re.M)
MOST_FILES = 25


def offences(root):
    for folder, _, names in os.walk(os.path.join(root, "tests")):
        path = os.path.relpath(folder, root)
        if len(names) > MOST_FILES:
            yield f"{path}: {len(names)} files, more than {MOST_FILES}"
        for name in sorted(names):
            if not name.endswith((".c", ".h")):
                continue
            with open(os.path.join(folder, name), encoding="utf-8") as f:
                text = f.read()
            suites = set(SUITE.findall(text))
            if name.startswith("test_") and suites != {name[5:-2]}:
                yield f"{path}/{name}: suites {sorted(suites)}, only {name[5:-2]} is run"
            elif suites and not name.startswith("test_"):
                yield f"{path}/{name}: tests in a file that is not called test_"


found = list(offences(sys.argv[1]))
print("\n".join(found) or "every suite is run")
sys.exit(bool(found))
