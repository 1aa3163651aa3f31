#!/usr/bin/env python3
"""clang-tidy on C files, as many at once as the machine has processors; of a file that was clean,
and of which nothing has changed since, nothing is asked: neither its text with all that it includes,
comments too, nor how it is compiled, nor the checks, nor the tool. Files that are not compiled are
left out: nobody knows their flags.
tidy.py BUILD KEPT FILE...   KEPT: a folder for what was clean. Prints findings; exit 1 when there are any
"""
import concurrent.futures
import hashlib
import json
import os
import shlex
import subprocess
import sys

# A third of the paths that the analyzer looks at in a function by default, in a third of the time:
# all files in minutes. The whole of them found nothing more in the product when this was chosen.
PATHS = ["-Xclang", "-analyzer-config", "-Xclang", "max-nodes=75000"]


def commands(build):
    """How each file is compiled: the first way, where several libraries have it."""
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as f:
        entries = json.load(f)
    first = {}
    for entry in entries:
        first.setdefault(os.path.realpath(entry["file"]), entry)
    return first


def flags(entry):
    """The compiler and its options, without what is made of what."""
    words = shlex.split(entry["command"])
    out = words.index("-o")
    del words[out:out + 2]
    return [w for w in words if w not in ("-c", entry["file"])]


def digest(entry, same_for_all):
    text = subprocess.run([*flags(entry), "-E", "-CC", "-dD", entry["file"]], cwd=entry["directory"],
                          capture_output=True)
    if text.returncode:
        return None
    key = hashlib.sha256(same_for_all + json.dumps(flags(entry) + PATHS).encode())
    key.update(text.stdout)
    return key.hexdigest()


def clean(path, entry, kept, same_for_all):
    """Whether it is; and what is to be said, if anything."""
    note = os.path.join(kept, path.replace(os.sep, "+"))
    now = digest(entry, same_for_all)
    if now and os.path.exists(note):
        with open(note, encoding="ascii") as f:
            if f.read() == now:
                return True, ""
    run = subprocess.run(["clang-tidy", "--quiet", path, "--", *flags(entry)[1:], *PATHS],
                         capture_output=True, text=True)
    if run.returncode:
        return False, run.stdout or run.stderr
    if now:
        with open(note, "w", encoding="ascii") as f:
            f.write(now)
    return True, run.stdout


def main():
    build, kept, *paths = sys.argv[1:]
    known = commands(build)
    os.makedirs(kept, exist_ok=True)
    with open(".clang-tidy", "rb") as f:
        same_for_all = f.read() + subprocess.run(["clang-tidy", "--version"], check=True,
                                                 capture_output=True).stdout
    compiled = [p for p in paths if os.path.realpath(p) in known]
    # the longest first: none is left alone at the end
    compiled.sort(key=os.path.getsize, reverse=True)
    found = 0
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        work = [pool.submit(clean, p, known[os.path.realpath(p)], kept, same_for_all) for p in compiled]
        for done in concurrent.futures.as_completed(work):
            good, words = done.result()
            found += not good
            if words:
                print(words, end="", flush=True)
    sys.exit(found > 0)


main()
