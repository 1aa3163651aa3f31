#!/usr/bin/env python3
"""The tables of docs/kernels.md: what ptxas says of each CUDA kernel.

    make_kernels_doc.py --source DIR [--nvcc NVCC] [--check] [--jobs N]

Compiles kernels/cuda/*.cu for the architectures that are shipped and writes registers, spills
and shared memory of every kernel between the two marks of the document. --check: compares
instead; exit status 1 when the document is stale, 77 when there is no nvcc or one of another
release than the document says.
"""
import argparse
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
import tempfile

ARCHITECTURES = (75, 80, 86, 89, 90)
BEGIN, END = "<!-- begin: make_kernels_doc.py -->\n", "<!-- end -->\n"
ENTRY = re.compile(r"Compiling entry function '(\w+)' for 'sm_(\d+)'")
SPILL = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
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
               os.path.join("kernels/cuda", name)]
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


def table(options):
    files = sorted(f for f in os.listdir(os.path.join(options.source, "kernels/cuda"))
                   if f.endswith(".cu"))
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        found = list(pool.map(lambda f: resources(options, f), files))
    lines = ["nvcc %s, registers a thread for sm_%s; spills and static shared memory: the most of "
             "any.\n" % (release(options.nvcc), ", ".join(map(str, ARCHITECTURES)))]
    for name, rows in zip(files, found):
        kernels = {}
        for kernel, arch, registers, spilled, shared in rows:
            kernels.setdefault(kernel, {})[arch] = (registers, spilled, shared)
        lines += ["\n### %s\n\n" % name,
                  "| kernel | %s | spilled bytes | shared bytes |\n" %
                  " | ".join("%d" % a for a in ARCHITECTURES),
                  "|---|" + "---:|" * (len(ARCHITECTURES) + 2) + "\n"]
        for kernel, by_arch in sorted(kernels.items()):
            lines.append("| `%s` | %s | %d | %d |\n" % (
                kernel, " | ".join("%d" % by_arch[a][0] for a in ARCHITECTURES),
                max(v[1] for v in by_arch.values()), max(v[2] for v in by_arch.values())))
    return "".join(lines)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--source", required=True)
    parser.add_argument("--nvcc", default="nvcc")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    path = os.path.join(options.source, "docs/kernels.md")
    with open(path) as document:
        text = document.read()
    before, rest = text.split(BEGIN)
    old, after = rest.split(END)
    if options.check:
        if not shutil.which(options.nvcc) or release(options.nvcc) not in old:
            print("skipped: no nvcc of the release that made docs/kernels.md")
            return 77
    new = table(options)
    if options.check:
        if new != old:
            print("docs/kernels.md is stale: run tests/make_kernels_doc.py --source .")
        return int(new != old)
    with open(path, "w") as document:
        document.write(before + BEGIN + new + END + after)
    return 0


if __name__ == "__main__":
    sys.exit(main())
