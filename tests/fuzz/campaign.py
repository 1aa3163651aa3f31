#!/usr/bin/env python3
"""Run the fuzzers one after the other, and say what they did and reached.

  campaign.py BUILD CORPORA SECONDS [TARGET...]

BUILD: a build folder of preset fuzz, fuzz-asan or fuzz-edges. CORPORA: a folder for what is found,
one folder a target, kept from one campaign to the next; CORPORA/runs counts all runs so far.
SECONDS: of each target; 0 replays what is there. Prints a table of runs, runs a second of processor
time and edges, then the edges of decoding over all targets. Exit status: 1 a fuzzer found
something (its input is in CORPORA/findings).
"""
import os
import re
import resource
import subprocess
import sys

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HERE = os.path.join(SOURCE, "tests", "fuzz")
TRACES = [os.path.join(HERE, "corpus", "reader"), os.path.join(SOURCE, "fixtures", "traces")]
SEEDS = {"reader": TRACES[1:], "tables": TRACES}
# bytes of an input: seeds are cut to that, and a trace's schema alone has 3,000
MAX_LEN = {"reader": 24576, "tables": 8192, "codec": 16384}
# Not decoding: what writes, and what only opens files or talks to people.
WRITING = re.compile(r"_encode\.c|codec/model\.c|trace/writer\.c|formats/parquet/|_writer\.c|"
                     r"base/(outfile|own_file|options|sink)\.c|foreign/out\.c")
DECODING = re.compile(r"formats/|recorder/(shared|drain)/")
# freed memory is used again at once, and not given back to the system after each run
MEMORY = {"MALLOC_MMAP_THRESHOLD_": "100000000", "MALLOC_TRIM_THRESHOLD_": "1000000000",
          "MALLOC_TOP_PAD_": "16777216"}
EDGES = re.compile(r"COVERED_FUNC: hits: \d+ edges: (\d+)/(\d+) (\S+) (\S+?):\d+$", re.M)


def run(build, corpora, target, options):
    folders = [os.path.join(corpora, target), os.path.join(HERE, "corpus", target)]
    findings = os.path.join(corpora, "findings")
    os.makedirs(folders[0], exist_ok=True)
    os.makedirs(findings, exist_ok=True)
    command = [os.path.join(build, "tests", "fuzz_" + target), "-entropic=0",
               f"-max_len={MAX_LEN.get(target, 4096)}",
               "-timeout=10", "-rss_limit_mb=2000", "-print_final_stats=1",
               f"-artifact_prefix={findings}/{target}-"] + options + folders
    command += SEEDS.get(target, [])
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          env={**MEMORY, **os.environ}, errors="replace", check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return done.returncode, done.stdout, cpu


def edges(text):
    """Of each function: edges reached, edges there are."""
    found = {}
    for reached, total, function, path in EDGES.findall(text):
        name = (os.path.relpath(path, SOURCE), function)
        old = found.get(name, (0, 0))
        found[name] = (max(old[0], int(reached)), max(old[1], int(total)))
    return found


def share(found, wanted):
    some = [n for name, n in found.items() if wanted(name[0])]
    total = sum(n[1] for n in some)
    reached = sum(n[0] for n in some)
    return f"{reached:6d} of {total:6d} {100 * reached / total:5.1f} %" if total else ""


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    build, corpora, seconds = sys.argv[1:4]
    targets = sys.argv[4:] or sorted(
        f[5:] for f in os.listdir(os.path.join(build, "tests")) if re.fullmatch("fuzz_[a-z]+(_(json|nsys))?", f)
        and f != "fuzz_seeds")
    together, failed, all_runs = {}, 0, 0
    print(f"{'target':12} {'runs':>12} {'a CPU second':>12}   edges of its own code", flush=True)
    for target in targets:
        runs = cpu = 0
        status = 0
        if int(seconds):
            status, text, cpu = run(build, corpora, target, [f"-max_total_time={seconds}"])
            runs = int((re.findall(r"number_of_executed_units: *(\d+)", text) or [0])[0])
        _, text, _ = run(build, corpora, target, ["-runs=0", "-print_coverage=1"])
        found = edges(text)
        for name, n in found.items():
            old = together.get(name, (0, 0))
            together[name] = (max(old[0], n[0]), max(old[1], n[1]))
        print(f"{target:12} {runs:12d} {runs / cpu if cpu else 0:12.0f}   "
              f"{share(found, lambda path: not path.startswith('tests/'))}"
              f"{'   FOUND SOMETHING' if status else ''}", flush=True)
        failed |= status != 0
        all_runs += runs
    counter = os.path.join(corpora, "runs")
    before = int(open(counter, encoding="ascii").read()) if os.path.exists(counter) else 0
    with open(counter, "w", encoding="ascii") as f:
        f.write(f"{before + all_runs}\n")
    print(f"{all_runs} runs, {before + all_runs} with those before")
    for room in ("formats/", "recorder/"):
        print(f"decoding of {room:10} over all targets: " + share(together, lambda path: path.startswith(room)
              and DECODING.match(path) and not WRITING.search(path)))
    sys.exit(failed)


main()
