#!/usr/bin/env python3
"""The flight recorder beside a program that launches RATE kernels per second for SECONDS: memory and disk stay flat, and
each planted slow step has a trace of its own with at least two steps before it. The driver and CUPTI are those of
../cuda/fake.h. Slow steps take 6 s, all others 20 ms; there is one per minute.
Usage: flight_hour.py WARPSHEET_RECORD WARPSHEET FAKES [SECONDS [RATE [OPTION_OF_RECORD...]]]

Prints a line per tenth of the run: the largest memory of recorder and program, each without the segment, of the segment
the least, median and largest, and the largest space of the unfinished trace on the disk. The last half of the run may need
a tenth more than the quarter before it, of the segment in the median: it is larger while there is a backlog. Runs of under
ten minutes are too short for that. A machine that is too busy for the rate fails only if a step is missed; the rate is
printed.
"""
import csv
import glob
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

STEP_S, SLOW_S, CYCLE_S, KEEP_S = 0.02, 6, 60, 10
record, warpsheet, fakes = sys.argv[1:4]
seconds, rate = (float(x) for x in (sys.argv[4:6] + ["60", "250000"][len(sys.argv) - 4:])[:2])
options = sys.argv[6:]
steps = round((CYCLE_S - SLOW_S) / STEP_S)
cycles = max(1, round(seconds / CYCLE_S))
launches = round(rate * CYCLE_S / (steps + 1) / 5) * 5
caught, others, problems, samples = set(), [], [], []


def query(trace, sql):
    out = subprocess.run(["nice", "-n", "19", warpsheet, "query", trace, "--scope", "all", "--format", "csv", sql],
                         check=True, capture_output=True, text=True).stdout
    return list(csv.reader(out.splitlines()))[-1]


def facts(trace):
    return subprocess.run(["nice", "-n", "19", warpsheet, "info", trace], check=True, capture_output=True, text=True).stdout


def judge(trace):
    """A trace that --when wrote: which step, and how many before it."""
    info = facts(trace)
    if "flight.step " not in info:  # the trace of the end, which is also that of a slow step just before
        return
    step, start = (int(re.search(rf"^ *flight\.{key} +(\d+)", info, re.M).group(1)) for key in ("step", "step_start_ns"))
    before = int(query(trace, f"SELECT sum(time_ns < {start}) FROM nvtx_record WHERE type = 'push' AND name = 'step'")[0])
    if step % (steps + 1) != steps:
        others.append(step)
    elif before < 2:
        problems.append(f"step {step} has {before} steps before it")
    else:
        caught.add(step)


def judge_all():
    while True:
        had_ended = run.poll() is not None
        for trace in glob.glob(f"{folder}/t.[0-9]*.wtrace"):
            judge(trace)
            os.unlink(trace)
        if had_ended:
            return
        time.sleep(1)


def memory(pid, key):
    with open(f"/proc/{pid}/status") as f:
        return int(re.search(rf"^{key}:\s+(\d+)", f.read(), re.M).group(1)) / 1024


def program_of(pid):
    for child in open(f"/proc/{pid}/task/{pid}/children").read().split():
        if b"steps.py" in open(f"/proc/{child}/cmdline", "rb").read().replace(b"\0", b" ").split(b" -- ")[0]:
            return child
    return None


in_memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory(dir=in_memory) as segments:
    spec = [f"launches:{launches}"] + [f"{steps}:{STEP_S * 1e3:g}", f"1:{STEP_S * 1e3:g}:{SLOW_S * 1e3:g}"] * cycles + [f"5:{STEP_S * 1e3:g}"]
    environment = dict(os.environ, LD_LIBRARY_PATH=fakes, WARPSHEET_CUPTI_PATH=f"{fakes}/libcupti-fake.so",
                       WARPSHEET_SEGMENT_DIR=segments)
    begun = time.monotonic()
    with open(f"{folder}/said", "w") as said:
        run = subprocess.Popen([record, "--keep", str(KEEP_S), "--when", "step > 20x median", "-o", f"{folder}/t.wtrace",
                                *options, "--", sys.executable, os.path.join(os.path.dirname(os.path.abspath(__file__)), "steps.py")]
                               + spec, env=environment, stdout=said, stderr=said)
    judges = threading.Thread(target=judge_all)
    judges.start()
    while run.poll() is None:
        try:
            part = sum(os.stat(name).st_blocks * 512 for name in glob.glob(f"{folder}/*.part")) / 2 ** 20
            samples.append((time.monotonic() - begun, memory(run.pid, "RssAnon"), memory(program_of(run.pid), "RssAnon"),
                            memory(program_of(run.pid), "RssShmem"), part, os.getloadavg()[0]))
        except (AttributeError, OSError):  # one of them ends, or the program has not begun
            pass
        if time.monotonic() - begun > seconds + KEEP_S and program_of(run.pid):
            os.kill(int(program_of(run.pid)), signal.SIGTERM)
        time.sleep(1)
    took = time.monotonic() - begun
    judges.join()
    with open(f"{folder}/said") as said:
        words = said.read()
    print(words[-1500:])
    judge(f"{folder}/t.wtrace")
    kernels, ranges = (int(n) for n in re.search(r"/t\.wtrace: (\d+) kernels, (\d+) ranges", words).groups())
    planted = {step for step in range(steps, ranges // 2 - 5, steps + 1)}
    if run.returncode not in (0, 128 + signal.SIGTERM):
        problems.append(f"the recorder ends with {run.returncode}")
    lost = re.findall(r"^  (\S+) +(\d+)", facts(f"{folder}/t.wtrace").partition("\n  losses\n")[2], re.M)
    print("lost: " + (", ".join(f"{cause} {n}" for cause, n in lost if int(n)) or "nothing"))

print(f"{took:.0f} s, {kernels / took:.0f} launches per second; "
      f"{len(caught)} of {len(planted)} planted steps caught, {len(others)} others")
print("from s | recorder MiB | program MiB, of its own, of the segment: least, median, largest | disk MiB | load")
for tenth in range(10):
    part = samples[tenth * len(samples) // 10:(tenth + 1) * len(samples) // 10]
    columns = [sorted(values) for values in zip(*part)]
    print(" | ".join(f"{x:.1f}" for x in (part[0][0], columns[1][-1], columns[2][-1], columns[3][0], statistics.median(columns[3]),
                                          columns[3][-1], columns[4][-1], statistics.median(columns[5]))) if part else "")
for i, name in enumerate(("the recorder's memory", "the program's own memory", "the segment", "the space on the disk"), 1):
    quarter, half = samples[len(samples) // 4:len(samples) // 2], samples[len(samples) // 2:]
    typical = statistics.median if name == "the segment" else max
    if seconds >= 600 and typical(s[i] for s in half) > 1.1 * typical(s[i] for s in quarter) + 2:
        problems.append(f"{name} grows")
if caught != planted or not planted:
    problems.append(f"not caught: {sorted(planted - caught)}" if planted else "no planted step was reached")
print("\n".join(problems))
sys.exit(bool(problems))
