#!/usr/bin/env python3
"""ctest runs the suite NAME of a file test_NAME.c: no other suite may stand in it, or its tests
never run. Each test has the keeper in front, and labels that are known, for run/check
asks by them. And the tests and files that pages name are there.
suites.py ROOT   prints each offence; exit 1 when there is one
"""
import glob
import os
import re
import sys

SUITE = re.compile(r"^(?:Test|TestSuite|Theory|ParameterizedTest)\((?:[^,()]*\*\s*\w+,\s*)?(\w+)", re.M)
CASE = re.compile(r"`([a-z]\w*)/(\w+)([…*]?)`")
HELD_BY = re.compile(r"`(\w+)\.(\w+)`((?: \([^)|]*\))?)")
# of a room: what is written in capitals, as NAME.c, is no name
PATH = re.compile(r"`((?:formats|kernels|recorder|report|tests|fixtures|run)/[a-z0-9_/.-]+\.[a-z]+)`")
# of C: NVIDIA's are none of ours
SOURCE = re.compile(r"(?<![\w.*<-])((?:\w+/)*[a-z][a-z0-9_]*\.(?:c|cu|cuh|h|def))\b")
THEIRS = {"cuda_occupancy.h"}
LABELS = re.compile(r"\bLABELS\s+(?:\"([^\"$]+)\"|([\w-]+))")
UNKEPT = re.compile(r"add_test\(NAME (\S+)(?:\s+CONFIGURATIONS \w+)?\s+COMMAND (?!keeper )")


def promises(root):
    """A test is a suite below the folder that its name begins with, or is called so by CMake."""
    files, cmake = {}, ""
    for path in glob.glob(os.path.join(root, "tests", "**", "*.*"), recursive=True):
        with open(path, encoding="utf-8", errors="replace") as f:
            files[os.path.relpath(path, root).split(os.sep)[1], os.path.basename(path)] = text = f.read()
        cmake += text if os.path.basename(path) == "CMakeLists.txt" else ""
    with open(os.path.join(root, "docs", "dev", "guarantees.md"), encoding="utf-8") as f:
        for top, name, cases in HELD_BY.findall(f.read()):
            text = files.get((top, f"test_{name}.c"))
            if not text and f"{top}.{name}" not in cmake and f"{top}.{name.rsplit('_', 1)[0]}_${{name}}" not in cmake:
                yield f"docs/dev/guarantees.md: there is no test {top}.{name}"
            for case in re.findall(r"`(\w+)…?`", cases if text else ""):
                if case not in text:
                    yield f"docs/dev/guarantees.md: {top}.{name} has no {case}"


def cases(root):
    """`suite/case` in a page of docs/, where the suite is one: `case…` stands for all that begin so.
    The tests of NAME.scenario are the suite scenario_NAME."""
    known = {}
    for path in glob.glob(os.path.join(root, "tests", "**", "test_*.c"), recursive=True):
        with open(path, encoding="utf-8") as f:
            for suite, case in re.findall(r"^\w+\([^()]*?\b(\w+), (\w+)[,)]", f.read(), re.M):
                known.setdefault(suite, set()).add(case)
    for path in glob.glob(os.path.join(root, "tests", "**", "*.scenario"), recursive=True):
        with open(path, encoding="utf-8") as f:
            name = os.path.splitext(os.path.basename(path))[0]
            known["scenario_" + name] = {t.replace(" ", "_") for t in re.findall(r"^test (.+)", f.read(), re.M)}
    for path in sorted(glob.glob(os.path.join(root, "docs", "**", "*.md"), recursive=True)):
        with open(path, encoding="utf-8") as f:
            for suite, case, more in CASE.findall(f.read()):
                there = known.get(suite, {case})
                if not (case in there or more and any(c.startswith(case) for c in there)):
                    yield f"{os.path.relpath(path, root)}: suite {suite} has no test {case}"


def files(root):
    pages = glob.glob(os.path.join(root, "*.md"))
    sources = set()
    for room in ("docs", "formats", "kernels", "recorder", "report", "tests", "packaging"):
        pages += glob.glob(os.path.join(root, room, "**", "*.md"), recursive=True)
        for path in glob.glob(os.path.join(root, room, "**", "*.*"), recursive=True):
            parts = os.path.relpath(path, root).split(os.sep)
            sources.update("/".join(parts[i:]) for i in range(len(parts)))
    for path in sorted(pages):
        with open(path, encoding="utf-8") as f:
            text = f.read()
        lacking = {name for name in PATH.findall(text) if not os.path.exists(os.path.join(root, name))}
        for name in sorted(lacking | set(SOURCE.findall(text)) - sources - THEIRS):
            yield f"{os.path.relpath(path, root)}: there is no file {name}"


def labels(root):
    with open(os.path.join(root, "tests", "CMakeLists.txt"), encoding="utf-8") as f:
        known = set(re.findall(r"^#   ([a-z0-9_-]+)  ", f.read(), re.M))
    for path in glob.glob(os.path.join(root, "tests", "**", "CMakeLists.txt"), recursive=True):
        with open(path, encoding="utf-8") as f:
            for label in ";".join(a or b for a, b in LABELS.findall(f.read())).split(";"):
                if label and label not in known:
                    yield f"{os.path.relpath(path, root)}: tests/CMakeLists.txt does not say what the label {label} is"


def offences(root):
    for folder, _, names in os.walk(os.path.join(root, "tests")):
        path = os.path.relpath(folder, root)
        for name in sorted(names):
            if name == "CMakeLists.txt":
                with open(os.path.join(folder, name), encoding="utf-8") as f:
                    for test in UNKEPT.findall(f.read()):
                        yield f"{path}/{name}: {test} lacks the keeper: COMMAND keeper PROGRAM…"
            if not name.endswith((".c", ".h")):
                continue
            with open(os.path.join(folder, name), encoding="utf-8") as f:
                text = f.read()
            if 'setenv("LD_PRELOAD", WS_' in text:
                yield f"{path}/{name}: LD_PRELOAD takes no path with a blank: run_preload()"
            suites = set(SUITE.findall(text))
            if name.startswith("test_") and suites != {name[5:-2]}:
                yield f"{path}/{name}: suites {sorted(suites)}, only {name[5:-2]} is run"
            elif suites and not name.startswith("test_"):
                yield f"{path}/{name}: tests in a file that is not called test_"


found = [each for what in (offences, promises, cases, files, labels) for each in what(sys.argv[1])]
print("\n".join(found) or "every suite is run")
sys.exit(bool(found))
