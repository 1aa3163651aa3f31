#!/usr/bin/env python3
"""A filter that lets everything through changes no number: sums do not depend on the way by which rows come. Whatever passes
a filter adds up to the totals that are shown.
all_pass.py SCENARIO_TRACE TRACE...
"""
import json
import os
import sys

for folder in "scenarios", "sql":
    sys.path.insert(0, os.path.join(os.path.dirname(__file__), folder))
import scenario  # pylint: disable=wrong-import-position
import sums  # pylint: disable=wrong-import-position

# filters that let all of a trace through, and the tables that they are of: none = all
FILTERS = [
    (["--time", "0..1000000s"], []),
    (["--kernel", ".*"], ["kernel-summary", "kernel-launches", "kernel-trace", "classes", "range-kernels"]),
]
SOME = [["--nvtx", "*step*"], ["--steps", "1..2"], ["--device", "0"], ["--kernel", "gemm|elementwise"],
        ["--time", "100000..900000"]]
# these say what the filter is
ABOUT_FILTERS = ["method", "summary"]


def tables_of(program, trace, *options):
    done = program.run("report", trace, "--scope", "all", "--format", "json", *options)
    if done.returncode == 2:  # nothing passes, since there is nothing
        return None
    if done.returncode:
        sys.exit(f"{trace} {options}: {done.stderr}")
    made = json.loads(done.stdout)
    return made.get("tables") or {made["table"]: made}


def numbers(table):
    """All of it but what words say of the filter."""
    return json.dumps({key: value for key, value in table.items() if key not in ("notes", "filter")}, sort_keys=True)


def main(program, *traces):
    program = scenario.Program(program)
    compared, wrong = 0, []

    def compare(trace, options, before, after):
        nonlocal compared
        for name in before if after else []:
            compared += len(before[name]["rows"])
            if name not in ABOUT_FILTERS and numbers(before[name]) != numbers(after[name]):
                wrong.append(f"{trace}: {name} {' '.join(options)}")

    for trace in traces:
        everything = tables_of(program, trace)
        for options in [], *SOME:
            some = tables_of(program, trace, *options)
            wrong += [f"{trace} {' '.join(options)}: {why}" for why in (sums.wrongs(some) if some else ())]
        for options, names in FILTERS:
            # of killed.wtrace a kernel has no time, so it ran in none
            if "--time" in options and "killed" in trace:
                continue
            if not names:
                compare(trace, options, everything, tables_of(program, trace, *options))
            # a table alone reads less of a trace
            for name in names or everything:
                one = tables_of(program, trace, "--table", name)
                compare(trace, options, one, tables_of(program, trace, "--table", name, *options))
    print(f"{compared} rows compared")
    if not compared or wrong:
        sys.exit("\n".join(wrong) or "no table has rows")


if __name__ == "__main__":
    main(*sys.argv[1:])
