#!/usr/bin/env python3
"""Planted bugs in the CUDA kernels must be found by their tests on the emulated GPU.

Every candidate place of a .cu file (and of the headers that it includes) gets a switch: the
original code unless WS_MUTANT names it. So each file is compiled once, whatever the number of
bugs. The classes: a barrier is removed, an index is off by one, the last element or a whole
loop is lost, a reduction is too narrow, a factor is dropped.

    mutants.py --source DIR --build DIR [--all] [--only FILE [--objects DIR]] [--class NAME]

--build: where the test programs are (built before). Without --all a fixed sample is planted:
all barriers, and SAMPLE of every other class in every file. Exit status 1: one survived that
mutants_accepted.txt does not explain, or a class of a file was not found once.
"""
import argparse
import concurrent.futures
import glob
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time

SAMPLE = 1
CPU_LIMIT_S = 120  # of one test: a lost increment never ends, and a busy machine is no bug

# What proves a file: test program and pattern of its tests, the fastest first.
TESTS = {
    "elementwise.cu": [("device_elementwise", "*/gradients*"), ("device_elementwise", "*/copies*"),
                       ("device_elementwise", "*/unary*"), ("device_elementwise", "*/binary*"),
                       ("device_image", "*/bias*"), ("device_image", "*/dropout*"),
                       ("device_fused", "*/squared_errors*"), ("device_fused", "*/rms*"),
                       ("batches", "*")],
    "layout.cu": [("device_elementwise", "*/rotary*"), ("device_elementwise", "*/copies*"),
                  ("device_elementwise", "*/look_ups*")],
    "optimizer.cu": [("device_fused", "*/gradients_are*"), ("device_fused", "*/optimizers_of*")],
    "pool.cu": [("device_image", "*/pooling*")],
    "rows.cu": [("device_elementwise", "*/reductions*"), ("device_image", "*/bias*"),
                ("device_fused", "*/rms*"), ("device_fused", "*/cross_entropy*"),
                ("device_fused", "*/causal_softmax_of_rows_of_any*"),
                ("device_fused", "*/causal_softmax*beyond*")],
}
# Headers with device code, and the files whose tests are to find their bugs.
HEADERS = {"kernel.cuh": ["rows.cu", "layout.cu"]}

NAME = r"[A-Za-z_]\w*(?:(?:\.|->)\w+)*"
DEVICE = re.compile(r"\b(?:__device__|__global__)\b[^;{}]*\{")


def device_spans(text):
    """Bodies of functions that run on the GPU."""
    spans = []
    for match in DEVICE.finditer(text):
        depth, at = 1, match.end()
        while depth and at < len(text):
            depth += {"{": 1, "}": -1}.get(text[at], 0)
            at += 1
        spans.append((match.end(), at))
    return spans


def rules():
    """(class, pattern, replacement with {m}: the switch)"""
    condition = r"(for \([^;]*;) ([^;&|?]+?) (<) ([^;&|?]+?);"
    return [
        ("barrier", r"\b__sync(?:threads|warp)\(\);", r"if (!{m}) \g<0>"),
        ("tail", condition, r"\1 {m} ? (\2) + 1 < (\4) : (\2) < (\4);"),
        ("tail", condition, r"\1 !{m} && (\2) < (\4);"),
        ("tail", r"\bif \((%s) < (%s)\)" % (NAME, NAME), r"if ({m} ? \1 + 1 < \2 : \1 < \2)"),
        ("index", condition, r"\1 {m} ? (\2) <= (\4) : (\2) < (\4);"),
        ("index", r"\bif \((%s) < (%s)\)" % (NAME, NAME), r"if ({m} ? \1 <= \2 : \1 < \2)"),
        ("index", r"(?<=[\w\]])\[((?:[a-z]\w*)(?:\.x)?)\](?= [-+*]?= )", r"[\1 + (int)({m})]"),
        ("index", r"(?<== )(\w+)\[([a-z]\w*)\];", r"\1[\2 + (int)({m})];"),
        ("index", r"(ws_(?:load|store)<[^>]*>\()((?:\((?:const )?\w+ \*\))?\w+ \+ \w+),",
         r"\1(\2) + (int)({m}),"),
        ("width", r"= ([\w.]+) / 2; (\w+);", r"= ({m} ? \1 / 4 : \1 / 2); \2;"),
        ("width", r"% WS_WARP\b", r"% ({m} ? WS_WARP / 2 : WS_WARP)"),
        ("scale", r"(?<=[\w\])]) \* ((?:\(float\))?(?!WS_|THREADS|int)%s)(?![\w(\[.]|->)" % NAME,
         r" * ({m} ? 1 : \1)"),
        ("scale", r"(?<=[\w\])]) / (\(float\)%s)(?![\w(\[.]|->)" % NAME, r" / ({m} ? 1 : \1)"),
    ]


class Mutant:
    def __init__(self, number, file, kind, line, text):
        self.number, self.file, self.kind = number, file, kind
        self.line, self.text = line, text

    def __str__(self):
        return "%s:%d %s: %s" % (self.file, self.line, self.kind, self.text)


def declares(text, start):
    """Is the place within a declaration of an array, or constant for the compiler?"""
    line = text[text.rfind("\n", 0, start) + 1:start]
    return "constexpr" in line or "template" in line or "static_assert" in line or \
        line.lstrip().startswith("#") or re.match(r"\s*(__shared__ )?float \w+\[[^\]]*$", line)


def plant(name, text, mutants, wanted):
    """The text with a switch at each candidate place."""
    edits = []
    for kind, pattern, replacement in rules():
        for match in re.finditer(pattern, text):
            if not any(a <= match.start() and match.end() <= b for a, b in device_spans(text)):
                continue
            if declares(text, match.start()):
                continue
            edits.append((match.start(), match.end(), kind, match, replacement))
    planted = []
    for start, end, kind, match, replacement in sorted(edits, key=lambda e: (e[0], e[1])):
        # one switch for each text; others of the same place in a later round
        if planted and start < planted[-1][1]:
            if (start, end) == planted[-1][:2] and kind != planted[-1][2][-1][0]:
                planted[-1][2].append((kind, match, replacement))
            continue
        planted.append((start, end, [(kind, match, replacement)]))
    for start, end, choices in reversed(planted):
        body = text[start:end]
        kind, match, replacement = choices[len(mutants) % len(choices)]
        if wanted and kind != wanted:
            continue
        mutant = Mutant(len(mutants) + 1, name, kind, text.count("\n", 0, start) + 1,
                        " ".join(body.split()))
        mutants.append(mutant)
        switch = "(ws_mutant == %d)" % mutant.number
        text = text[:start] + match.expand(replacement.replace("{m}", switch)) + text[end:]
    return text


def sample(mutants):
    """All barriers; of the other classes of a file some, evenly spread."""
    chosen, groups = [], {}
    for mutant in mutants:
        groups.setdefault((mutant.file, mutant.kind), []).append(mutant)
    for (_, kind), group in groups.items():
        count = len(group) if kind == "barrier" else min(SAMPLE, len(group))
        chosen += [group[(2 * i + 1) * len(group) // (2 * count)] for i in range(count)]
    return chosen


def compile_flags(options):
    host = os.path.join(options.source, "tests/cuda_host")
    return [options.compiler, "-x", "c++", "-std=gnu++17", "-DWS_CUDA_HOST", "-D_GNU_SOURCE",
            "-O1", "-fPIC", "-fsanitize=address,undefined", "-fno-sanitize-recover=all",
            "-fno-omit-frame-pointer", "-fdata-sections", "-ffp-contract=off",
            "-fno-exceptions", "-ftrivial-auto-var-init=pattern", "-w",
            "-include", os.path.join(host, "cuda_host.h"), "-include", "ws_mutant.h"]


SWITCH = """#include <stdlib.h>
#include "ws_mutant.h"
int ws_mutant;
__attribute__((constructor)) static void choose(void)
{
	const char *text = getenv("WS_MUTANT");

	ws_mutant = text ? (int)strtol(text, NULL, 10) : 0;
}
"""


def build(options, work, mutants):
    """A library of the kernels with all switches in it. Returns its folder."""
    cuda = os.path.join(options.source, "kernels/cuda/own")
    planted = os.path.join(work, "kernels/cuda/own")
    os.makedirs(planted)
    with open(os.path.join(work, "ws_mutant.h"), "w") as out:
        out.write("#ifdef __cplusplus\nextern \"C\" {\n#endif\nextern int ws_mutant;\n"
		          "#ifdef __cplusplus\n}\n#endif\n")
    with open(os.path.join(work, "ws_mutant.c"), "w") as out:
        out.write(SWITCH)
    files = sorted(f for f in os.listdir(cuda) if f.endswith(".cu"))
    for name in files + sorted(HEADERS):
        with open(os.path.join(cuda, name)) as source:
            text = source.read()
        if not options.only or name in options.only:
            text = plant(name, text, mutants, options.kind)
        with open(os.path.join(planted, name), "w") as out:
            out.write(text)
    include = ["-I" + work, "-I" + options.source]

    def one(name):
        if options.objects and options.only and name not in options.only:
            return os.path.join(options.objects, name + ".o")
        target = os.path.join(work, name + ".o")
        subprocess.run(compile_flags(options) + include +
                       ["-c", os.path.join(planted, name), "-o", target], check=True)
        return target

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        objects = list(pool.map(one, files))
    plain = [os.path.join(options.source, "tests/cuda_host/emulation.c"),
             os.path.join(options.source, "tests/cuda_host/launch_check.c"),
             os.path.join(work, "ws_mutant.c")]
    plain += glob.glob(os.path.join(options.source, "kernels/cuda/own/*.c"))
    folder = os.path.join(work, "lib")
    os.makedirs(folder)
    for source in plain:
        target = os.path.join(work, os.path.basename(source) + ".o")
        subprocess.run([options.c_compiler, "-D_GNU_SOURCE", "-O1", "-fPIC",
                        "-fsanitize=address,undefined", "-fno-sanitize-recover=all",
                        "-fno-omit-frame-pointer"] + include + ["-c", source, "-o", target],
                       check=True)
        objects.append(target)
    subprocess.run([options.compiler, "-shared", "-fsanitize=address,undefined", "-Wl,-T," +
                    os.path.join(options.source, "tests/cuda_host/shared.ld"), "-o",
                    os.path.join(folder, "libws_emulated.so")] + objects + ["-lm"], check=True)
    return folder


def run(options, folder, number, tests):
    """The first test that fails with a mutant; None: none does."""
    environment = dict(os.environ, LD_LIBRARY_PATH=folder, WS_MUTANT=str(number),
                       ASAN_OPTIONS="detect_leaks=0")
    for program, pattern in tests:
        command = [os.path.join(options.build, "tests/test_" + program), "-j1",
                   "--fail-fast", "--filter", pattern]
        done = subprocess.run(command, env=environment, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, preexec_fn=limit_cpu)
        if b"Tested: 0" in done.stderr:
            sys.exit("%s has no tests %s" % (command[0], pattern))
        if done.returncode:
            return pattern
    return None


def limit_cpu():
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_LIMIT_S, CPU_LIMIT_S))


def read_accepted(options):
    """(file, class, text of the place) -> why it cannot be found"""
    accepted = {}
    path = os.path.join(options.source, "tests/cuda_host/mutants/mutants_accepted.txt")
    with open(path) as lines:
        for line in lines:
            if line.strip() and not line.startswith("#"):
                file, kind, text, why = line.rstrip("\n").split("\t")
                accepted[file, kind, text] = why
    return accepted


def judge(options, chosen, found):
    """Print what became of the mutants; how much is wrong."""
    accepted = read_accepted(options)
    wrong, groups = 0, {}
    for mutant, by in zip(chosen, found):
        group = groups.setdefault((mutant.file, mutant.kind), [0, 0, 0])
        known = (mutant.file, mutant.kind, mutant.text) in accepted
        group[0 if by else 1 if known else 2] += 1
        if not by and not known:
            print("SURVIVED %s" % mutant)
            wrong += 1
        elif not by:
            print("accepted %s (%s)" % (mutant, accepted[mutant.file, mutant.kind, mutant.text]))
    for (file, kind), (killed, known, alive) in sorted(groups.items()):
        print("%-16s %-8s %3d found, %d not findable, %d survived" % (file, kind, killed, known,
                                                                    alive))
        if not killed and not known:
            wrong += 1
    return wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--source", required=True)
    parser.add_argument("--build", required=True)
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("--c-compiler", default="gcc", dest="c_compiler")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--only", action="append")
    parser.add_argument("--objects", help="with --only: where the other files lie compiled")
    parser.add_argument("--class", dest="kind")
    options = parser.parse_args()
    begin = time.time()
    mutants = []
    work = tempfile.mkdtemp(prefix="ws_mutants_")
    try:
        folder = build(options, work, mutants)
        chosen = mutants if options.all else sample(mutants)
        proving = [HEADERS.get(m.file, [m.file]) for m in chosen]
        tests = [sum((TESTS.get(f, []) for f in own), []) for own in proving]
        for mutant, own in zip(chosen, tests):
            if not own:
                sys.exit("mutants.py knows no tests of " + mutant.file)
        files = sorted({f for own in proving for f in own})
        print("%d places in %d files, %d planted; compiled after %.0f s" %
              (len(mutants), len(files), len(chosen), time.time() - begin), flush=True)
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            clean = list(pool.map(lambda f: run(options, folder, 0, TESTS[f]), files))
            for file, failed in zip(files, clean):
                if failed:
                    sys.exit("the tests of %s fail without a bug: %s" % (file, failed))
            found = list(pool.map(lambda i: run(options, folder, chosen[i].number, tests[i]),
                                  range(len(chosen))))
        wrong = judge(options, chosen, found)
    finally:
        shutil.rmtree(work)
    print("%d planted, %d found, %.0f s" % (len(chosen), sum(1 for f in found if f),
                                           time.time() - begin))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
