#!/usr/bin/env python3
"""The tables of docs/dev/kernel-resources.md: what ptxas says of each CUDA kernel.

    make_kernels_doc.py --source DIR [--nvcc NVCC] [--check] [--jobs N]

Compiles kernels/cuda/own/*.cu for the architectures that are shipped and writes registers, spills
and shared memory of every kernel between the two marks of the document. A file whose digest the
document has already is not compiled again. --check compiles nothing: exit status 1 when a file
has changed since, 77 when there is no nvcc of the release that the document says.
"""
import argparse
import concurrent.futures
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile

FOLDER = "kernels/cuda/own"
FORMULAS = "kernels/graph/element.h"
ARCHITECTURES = (75, 80, 86, 89, 90)
BEGIN, END = "<!-- begin: make_kernels_doc.py -->\n", "<!-- end -->\n"
ENTRY = re.compile(r"Compiling entry function '(\w+)' for 'sm_(\d+)'")
SPILL = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
COMMENT = re.compile(r'("(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\')|/\*.*?\*/|//[^\n]*', re.S)
USED = re.compile(r"Used (\d+) registers(?:.*?, (\d+) bytes smem)?")


def release(nvcc):
    text = subprocess.run([nvcc, "--version"], capture_output=True, text=True).stdout
    found = re.search(r"release [\d.]+, (V[\d.]+)", text)
    return found.group(1) if found else None


def kernel_name(mangled):
    """ws_... of a static kernel's symbol: its length precedes it."""
    for match in re.finditer(r"(\d+)(?=ws_)", mangled):
        start = match.end()
        return mangled[start:start + int(match.group(1))]
    return mangled


def resources(options, name):
    """[(kernel, architecture, registers, spilled bytes, shared bytes)] of a .cu file"""
    command = [options.nvcc, "-O3", "-I.", "-D_GNU_SOURCE", "--resource-usage", "-c",
               os.path.join(FOLDER, name)]
    for arch in ARCHITECTURES:
        command += ["-gencode", "arch=compute_%d,code=sm_%d" % (arch, arch)]
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(command + ["-o", os.path.join(folder, "x.o")], cwd=options.source,
                              capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    rows, current, spilled = [], None, 0
    for line in done.stderr.splitlines():
        entry, spill, used = ENTRY.search(line), SPILL.search(line), USED.search(line)
        if entry:
            current = (kernel_name(entry.group(1)), int(entry.group(2)))
        elif spill:
            spilled = int(spill.group(2)) + int(spill.group(3))
        elif used and current:
            rows.append(current + (int(used.group(1)), spilled, int(used.group(2) or 0)))
            current = None
    return rows


def code(source):
    """Without comments and layout, of which no register depends."""
    return " ".join(COMMENT.sub(lambda m: m.group(1) or " ", source).split())


def digest(options, name):
    """Of the code of a .cu file and of what all of them include."""
    folder = os.path.join(options.source, FOLDER)
    parts = [name] + sorted(f for f in os.listdir(folder) if f.endswith((".cuh", ".h")))
    parts.append(os.path.relpath(os.path.join(options.source, FORMULAS), folder))
    total = hashlib.sha256()
    for part in parts:
        with open(os.path.join(folder, part), encoding="utf-8") as source:
            total.update(code(source.read()).encode())
    return total.hexdigest()[:16]


def section(options, name):
    kernels = {}
    for kernel, arch, registers, spilled, shared in resources(options, name):
        kernels.setdefault(kernel, {})[arch] = (registers, spilled, shared)
    lines = ["| kernel | %s | spilled bytes | shared bytes |\n" %
             " | ".join("%d" % a for a in ARCHITECTURES),
             "|---|" + "---:|" * (len(ARCHITECTURES) + 2) + "\n"]
    for kernel, by_arch in sorted(kernels.items()):
        lines.append("| `%s` | %s | %d | %d |\n" % (
            kernel, " | ".join("%d" % by_arch[a][0] for a in ARCHITECTURES),
            max(v[1] for v in by_arch.values()), max(v[2] for v in by_arch.values())))
    return "".join(lines)


def header(name, total):
    return "\n### %s\n\n<!-- %s -->\n\n" % (name, total)


def table(options, old, files):
    """The text between the marks: old sections where they are still true."""
    same_nvcc = (release(options.nvcc) or "?") in old
    known = dict(re.findall(r"\n### (?:\S+)\n\n<!-- (\w+) -->\n\n((?:\|.*\n)+)", old))
    kept = {name: known[total] for name, total in files.items() if same_nvcc and total in known}
    missing = [name for name in files if name not in kept]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        kept.update(zip(missing, pool.map(lambda f: section(options, f), missing)))
    return ("nvcc %s, registers a thread for sm_%s; spills and static shared memory: the most of "
            "any.\n" % (release(options.nvcc), ", ".join(map(str, ARCHITECTURES))) +
            "".join(header(name, files[name]) + kept[name] for name in files))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--source", required=True)
    parser.add_argument("--nvcc", default="nvcc")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    assert code('a /* "b" */ = "c // d"; // e\n') == 'a = "c // d";' != code('a = "c";')
    path = os.path.join(options.source, "docs/dev/kernel-resources.md")
    with open(path) as document:
        text = document.read()
    before, rest = text.split(BEGIN)
    old, after = rest.split(END)
    folder = os.path.join(options.source, FOLDER)
    files = {f: digest(options, f) for f in sorted(os.listdir(folder)) if f.endswith(".cu")}
    if not files:
        sys.exit("no .cu files in %s" % folder)
    if options.check:
        if not shutil.which(options.nvcc) or release(options.nvcc) not in old:
            print("skipped: no nvcc of the release that made docs/dev/kernel-resources.md")
            return 77
        stale = [name for name in files if header(name, files[name]) not in old]
        for name in stale:
            print("docs/dev/kernel-resources.md is stale for %s: run tests/checks/make_kernels_doc.py --source ." %
                  name)
        return 1 if stale else 0
    new = before + BEGIN + table(options, old, files) + END + after  # takes minutes
    with open(path, "w") as document:
        document.write(new)
    return 0


if __name__ == "__main__":
    sys.exit(main())
