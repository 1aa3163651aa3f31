#!/usr/bin/env python3
"""Memory runs out at every place of the program where some is asked for: exit status 5 and one line
about memory, and no output but a whole one, nothing half written or temporary. A library that does without the
memory may also let the program end as if nothing had happened: with the same output, then.
out_of_memory.py WARPSHEET PRELOAD ROOT [EVERY]   EVERY: only each EVERYth place
"""
import concurrent.futures
import os
import subprocess
import sys
import tempfile

STEP = "fixtures/traces/step-fp32.wtrace"
COMMANDS = [
    ("report", STEP),
    ("report", STEP, "-o", "out.xlsx"),
    ("report", STEP, "-o", "out.html"),
    ("report", STEP, "--table", "kernel-summary", "--format", "csv", "-o", "out.csv"),
    ("report", "fixtures/imports/bert-small-h100.json.gz", "--table", "summary"),
    ("diff", STEP, "fixtures/traces/step-bf16.wtrace"),
    ("diff", STEP, "fixtures/traces/step-bf16.wtrace", "-o", "out.xlsx"),
    ("import", "fixtures/imports/alexnet-a100.json.gz", "-o", "out.wtrace"),
    ("export", STEP, "-o", "out.sqlite"),
    ("export", STEP, "-o", "out.json.gz"),
    ("export", STEP, "--format", "parquet", "-o", "out"),
    ("query", STEP, "SELECT * FROM nvtx_record", "-o", "out.csv"),
]


# … and these with less and less memory in all: what libxlsxwriter takes has no place of its own
WORKBOOKS = [
    ("report", "fixtures/imports/bert-small-h100.json.gz", "-o", "out.xlsx"),
    ("diff", STEP, "fixtures/traces/step-bf16.wtrace", "-o", "out.xlsx"),
]


def snapshot(folder):
    found = {}
    for top, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(top, name)
            with open(path, "rb") as f:
                found[os.path.relpath(path, folder)] = f.read()
    return found


def run(program, preload, root, command, variables):
    """Status, standard output, standard error, files written."""
    words = [os.path.join(root, w) if w.startswith("fixtures/") else w for w in command]
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as temporary:
        done = subprocess.run([program, *words], cwd=folder, capture_output=True, check=False,
                              env={**os.environ, **({"LD_PRELOAD": preload} if preload else {}),
                                   "TMPDIR": temporary, **variables})
        files = snapshot(folder)
        # libxlsxwriter makes a file, asks for the memory of its stream, and then takes the name away
        files.update((f"TMPDIR/{f}", b) for f, b in snapshot(temporary).items() if b)
        return done.returncode, done.stdout, done.stderr.decode(errors="replace"), files


def judge(good, got):
    """What is wrong with an ending, else None."""
    status, out, words, files = got
    if status == 0:
        same = out == good[1] and {f: len(b) for f, b in files.items()} == {f: len(b) for f, b in good[3].items()}
        return None if same else "status 0, and another output"
    if status != 5:
        return f"status {status}: {words.strip()[-300:]}"
    if files and {f: len(b) for f, b in files.items()} != {f: len(b) for f, b in good[3].items()}:
        return f"left behind: {sorted(files)}"
    if sum("memory" in line for line in words.splitlines()) != 1:
        return f"does not say why: {words.strip()[-300:]}"
    return None


def limit_memory(program, root):
    """A limit that is a megabyte higher each time, until twice all is well: wrong endings."""
    bad = 0
    for command in WORKBOOKS:
        good = run(program, "", root, command, {})
        well = runs = 0
        for megabytes in range(4, 480):
            got = run(program, "", root, command, {"WARPSHEET_MAX_MEMORY": f"{megabytes}M"})
            fault = judge(good, got)
            runs += 1
            if fault or (got[0] == 5 and "Raise it with WARPSHEET_MAX_MEMORY" not in got[2]):
                bad += 1
                print(f"{' '.join(command)}, {megabytes} MB: {fault or got[2]}")
            well += got[0] == 0
            if well == 2:
                break
        print(f"{runs} limits of memory: {' '.join(command)}", flush=True)
        bad += well < 2 or runs < 6
    return bad


def main():
    program, library, root = (os.path.abspath(p) for p in sys.argv[1:4])
    links = tempfile.TemporaryDirectory()  # LD_PRELOAD takes no path with a blank
    preload = os.path.join(links.name, "preload.so")
    os.symlink(library, preload)
    every = int(sys.argv[4]) if len(sys.argv) > 4 else 1
    bad = 0
    for command in COMMANDS:
        with tempfile.NamedTemporaryFile("r") as places:
            good = run(program, preload, root, command, {"FAIL_MALLOC_LIST": places.name})
            calls = places.read().split()
        if good[0] or len(calls) < 20:
            sys.exit(f"{' '.join(command)}: status {good[0]}, {len(calls)} places: {good[2]}")
        calls = calls[::every]
        ended = 0
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for call, got in zip(calls, pool.map(
                    lambda n: run(program, preload, root, command, {"FAIL_MALLOC_AT": n}), calls)):
                fault = judge(good, got)
                ended += got[0] == 5
                if fault:
                    bad += 1
                    if bad <= 20:
                        print(f"{' '.join(command)}, allocation {call}: {fault}")
        print(f"{len(calls)} places, {ended} times status 5: {' '.join(command)}", flush=True)
        if ended < len(calls) / 2:
            print("  too few: the allocations that fail are not those of the program")
            bad += 1
    bad += limit_memory(program, root)
    print(f"{bad} wrong endings")
    sys.exit(bad > 0)


main()
