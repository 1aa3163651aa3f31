#!/usr/bin/env python3
"""A flight recorder is killed as it enters a system call, of any of its threads: in a short recording in which pieces are
dropped and a slow step and a signal each make `--when` write a trace. The driver, CUPTI and NVML are those of ../cuda.
Usage: flight_kills.py WARPSHEET_RECORD WARPSHEET FAKE_CUDA FAKE_NVML KILLS|all [JOBS]

KILLS calls are chosen evenly among those of a run that nobody kills; "all" is each of them. Whatever the call:

- every launch of the program since the begin of the kept part is in the salvaged trace as a kernel. Before a call of an even
  number nothing was salvaged until the program had ended; else --salvage, which ends the recording, comes at once, and the
  launches are those that had returned before the kill. The program notes the time of each launch.
- the kept part begins before the kill by the kept span at least
- traces that --when wrote are whole. The kernels in them are one stretch of launches, from the first in the kept part on.
  A slow step that had ended before the kill is in one of the traces
- the trace of an earlier recording is whole until the new one, whole, takes its name; once launches are salvaged, no other file is left

Exit status 77: this system allows no ptrace.
"""
import collections
import concurrent.futures
import csv
import glob
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

import traced

record, warpsheet, fake_cuda, fake_nvml, kills = sys.argv[1:6]
jobs = int((sys.argv[6:] + ["1"])[0])
KEEP_NS, FACTOR, STEP_MS, SLOW_MS, LAUNCHES, SLOW_STEP = 100_000_000, 4, 4, 60, 5, 8
SUBREAPER = 36
STEPS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "steps.py")


def said(*command):
    return subprocess.run(command, capture_output=True, text=True)


def query(trace, sql):
    return list(csv.reader(said(warpsheet, "query", trace, "--scope", "all", "--format", "csv", sql).stdout.splitlines()))[1:]


def facts(trace):
    return dict(re.findall(r"^  (\S+) +(\S+)", said(warpsheet, "info", trace).stdout, re.M))


def kernels_of(trace):
    """How often each launch is in the trace, and the time from which on the trace is kept."""
    known = facts(trace)
    counted = collections.Counter(int(n) for (n,) in query(trace, "SELECT grid_x FROM kernel WHERE grid_x > 0"))
    return counted, int(known["clock.base_ns"]) + int(known.get("record.kept_from_ns", 0)), known


def steps_of(trace, base_ns):
    return [base_ns + int(t) for (t,) in query(trace, "SELECT time_ns FROM nvtx_record WHERE type = 'push' AND name = 'step'")]


def one(at):
    traced.libc.prctl(SUBREAPER, 1, 0, 0, 0)
    signal.signal(signal.SIGUSR2, lambda *_: None)  # the program's parent is this process once the launcher is killed
    problems, lost, calls, call, killed_ns = [], 0, 0, None, 0

    def kill_there(n, number):
        nonlocal calls, call, killed_ns
        calls = n
        if n == at:
            call, killed_ns = number, time.monotonic_ns()
        return n == at

    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory(dir=in_memory) as segments:
        trace, tally = f"{folder}/t.wtrace", f"{folder}/tally"
        shutil.copy(before, trace)

        def check_whole(path):
            words = said(warpsheet, "check", path).stdout
            if ", closed; whole" not in words:
                problems.append(f"{os.path.basename(path)}: {words}")

        def wait_for_all():
            try:
                while True:
                    os.wait()
            except ChildProcessError:
                pass

        with open(f"{folder}/said", "w") as words:
            status = traced.run(
                [record, "--keep", "0.1", "--when", f"step > {FACTOR}x median", "--when", "signal", "--flush-interval", "5",
                 "--gpu-samples", "20", "-o", trace, "--", sys.executable, STEPS, f"launches:{LAUNCHES}", f"tally:{tally}",
                 f"{SLOW_STEP}:{STEP_MS}", f"1:{STEP_MS}:{SLOW_MS}", f"25:{STEP_MS}", "usr2", f"30:{STEP_MS}"],
                kill_there, env=dict(environment, WARPSHEET_SEGMENT_DIR=segments), stdout=words, stderr=words)
        is_late = not at or at % 2 == 0
        check_whole(trace)
        if is_late:
            wait_for_all()
        for segment in [name for name in glob.glob(f"{segments}/*") if ".process-" not in name]:
            salvage = said(record, "--salvage", segment)
            if salvage.returncode and os.path.exists(tally):
                problems.append(f"--salvage: {salvage.stderr}")
        wait_for_all()
        launched = [0]
        if os.path.exists(tally):
            with open(tally, "rb") as f:
                launched += [t for (t,) in struct.iter_unpack("<q", f.read())]
        check_whole(trace)
        copies = glob.glob(f"{folder}/t.[0-9]*.wtrace")
        for copy in copies:
            check_whole(copy)
            counted, kept_ns, _ = kernels_of(copy)
            wanted = [n for n, t in enumerate(launched) if t >= kept_ns and n <= max(counted, default=0)]
            if set(wanted) - set(counted):
                problems.append(f"{os.path.basename(copy)}: launches {sorted(set(wanted) - set(counted))} are missing")
        counted, kept_ns, known = kernels_of(trace)
        is_before = bool(query(trace, "SELECT 1 FROM kernel WHERE name = 'before'"))
        if is_before and len(launched) > 1:
            problems.append("the trace is the earlier one")
        elif not is_before:
            if call is not None and "record.kept_from_ns" in known and kept_ns > killed_ns - KEEP_NS:
                problems.append(f"the kept part begins only {(killed_ns - kept_ns) / 1e6:.1f} ms before the kill")
            wanted = {n for n, t in enumerate(launched) if t >= kept_ns
                      and (is_late or n + 1 < len(launched) and launched[n + 1] < killed_ns)}
            lost = len(wanted - set(counted))
            if lost or max(counted.values(), default=0) > 1:
                problems.append(f"launches {sorted(wanted - set(counted))} are missing, {[n for n in counted if counted[n] > 1]} twice")
        first = SLOW_STEP * LAUNCHES + 1  # launch of the slow step
        if len(launched) > first + LAUNCHES and (call is None or launched[first + LAUNCHES] < killed_ns):
            slow_ns, others_ns = launched[first] - launched[first - 1], max(b - a for a, b in zip(launched[1:], launched[2:first]))
            base_ns = int(known["clock.base_ns"])
            if slow_ns > 2 * FACTOR * others_ns and not any(
                    launched[first - 1] < t < launched[first] for name in copies + [trace] for t in steps_of(name, base_ns)):
                problems.append("the slow step is in no trace")
        left = set(os.listdir(folder)) - {"said", "tally", "t.wtrace"} - {os.path.basename(c) for c in copies}
        if len(launched) > 1 and (left or os.listdir(segments)):
            problems.append(f"left: {sorted(left)}, {os.listdir(segments)}")
        if call is None and (status or not copies and "flight.trigger" not in known):
            problems.append(f"not killed: status {status}, {len(copies)} copies, {open(f'{folder}/said').read()}")
        return problems, lost, call, calls, len(copies), "record.kept_from_ns" in known


in_memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
environment = dict(os.environ, LD_LIBRARY_PATH=f"{fake_cuda}:{fake_nvml}", FAKE_NVML_ENERGY="1000000",
                   WARPSHEET_CUPTI_PATH=f"{fake_cuda}/libcupti-fake.so")
with tempfile.TemporaryDirectory() as top:
    before = f"{top}/before.wtrace"
    subprocess.run([record, "-o", before, "--", sys.executable, STEPS, "name:before", "1:1"], env=environment, check=True,
                   stderr=subprocess.DEVNULL)
    try:
        with concurrent.futures.ProcessPoolExecutor(1) as pool:
            most = max(pool.submit(one, None).result()[3] for _ in range(3))
    except subprocess.SubprocessError:
        print("SKIP: ptrace is not allowed here")
        sys.exit(77)
    numbers = range(1, most + 1) if kills == "all" else [1 + i * (most - 1) // (int(kills) - 1) for i in range(int(kills))]
    failed, lost_most, killed, dropped, in_calls, with_copies = 0, 0, 0, 0, collections.Counter(), collections.Counter()
    with concurrent.futures.ProcessPoolExecutor(jobs) as pool:
        for at, (problems, lost, call, _, copies, has_dropped) in zip(numbers, pool.map(one, numbers)):
            killed += call is not None
            dropped += call is not None and has_dropped
            in_calls[call] += call is not None
            with_copies[copies] += call is not None
            lost_most = max(lost_most, lost)
            for problem in problems:
                failed += 1
                print(f"call {at} of {most}, system call {call}: {problem}")
print(f"{killed} of {len(numbers)} runs killed, in {dropped} pieces had been dropped; by system call {dict(in_calls)}, by traces of "
      f"--when {dict(with_copies)}; at most {lost_most} launches are missing")
if not dropped or not with_copies.total() - with_copies[0]:
    print("no kill after the first dropped piece, or none after the first trace of --when")
sys.exit(failed > 0 or not dropped or not with_copies.total() - with_copies[0])
