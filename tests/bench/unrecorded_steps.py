"""Do steps that --calibrate leaves out take as long as those of a program that is not recorded?

The speed of a machine changes by several percent within minutes, so processes that run one after the other differ by that much. Here
they run beside each other on one processor: in each turn, in random order, every process makes ten steps while the others wait. A group
is two processes that are not recorded (A/A: the resolution) and one with --calibrate; with launches also one under an idle tool, as the
launches of the tests' CUPTI cost time then, which a launch of a real driver does not. Of each process the median of the same steps
counts: those that --calibrate left out. Printed are, of all groups, the geometric mean of the ratios to the mean of the two unrecorded
processes, and its interval of 95 % by bootstrap: of the thread's processor time and of the clock's, as the programs themselves measured
them, and of the times in the trace, of which reports make "without".

For quiet numbers run it with a high priority, as root: nice -n -20, and -20 in /proc/self/autogroup."""
import csv
import os
import random
import subprocess
import sys
import tempfile
import time
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from bisect import bisect_right
from math import exp, log
from statistics import mean, median, stdev

STEPS = 10  # of a turn: a block of --calibrate=30, so that no pair begins in one turn and ends in the next
FIRST = 2   # turns that --calibrate always records
KINDS = ("settling", "unrecorded", "compared")


def train(name, turns):
    """Prints the begin of each step, which is the end of the one before, and what it takes by the clock and of the thread's
    processor time, in ns. So does launching_steps.c."""
    import torch
    from torch import nn
    torch.manual_seed(0)
    torch.set_num_threads(1)
    if name == "transformer":
        layers = [nn.Embedding(100, 64), *[nn.TransformerEncoderLayer(64, 4, 256, 0, batch_first=True) for _ in range(4)],
                  nn.LayerNorm(64), nn.Linear(64, 100)]
    else:
        layers = [nn.Embedding(100, 32), *[nn.Linear(32, 32) for _ in range(11)], nn.Linear(32, 100)]
    model, tokens = nn.Sequential(*layers), torch.randint(0, 100, (4, 32))
    optimizer, ends = torch.optim.AdamW(model.parameters()), [(0, 0)]
    optimizer.register_step_post_hook(lambda *_: ends.append((time.clock_gettime_ns(time.CLOCK_MONOTONIC), time.thread_time_ns())))
    for _ in range(turns):
        sys.stdin.readline()
        for _ in range(STEPS):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(tokens).view(-1, 100), tokens.view(-1)).backward()
            optimizer.step()
        print(flush=True)
    print(*(f"{a[0]},{b[0] - a[0]},{b[1] - a[1]}" for a, b in zip(ends, ends[1:])), flush=True)


def query(report, trace, sql):
    out = subprocess.run([report, "query", trace, sql, "--format", "csv"], stdout=subprocess.PIPE, text=True, check=True).stdout
    return list(csv.DictReader(out.splitlines()))


def run_group(commands, turns):
    """The steps of each process: (begin, clock's time, processor's time)."""
    names = list(commands)
    running = {}
    for name in random.sample(names, len(names)):
        command, variables = commands[name]
        running[name] = subprocess.Popen(command, env=dict(os.environ, **variables), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                         stderr=subprocess.DEVNULL, text=True)
    for _ in range(turns):
        for name in random.sample(names, len(names)):
            print(file=running[name].stdin, flush=True)
            if running[name].stdout.readline() != "\n":
                sys.exit(f"{name} ended: {commands[name]}")
    steps = {}
    for name in names:
        running[name].stdin.close()
        steps[name] = [tuple(map(int, s.split(","))) for s in running[name].stdout.read().split()]
        running[name].wait()
    return steps


def rows_of(report, trace, steps):
    """Of each kind the numbers of its steps and their times in the trace."""
    base = int(query(report, trace, "SELECT value FROM meta_record WHERE key = 'clock.base_ns'")[0]["value"])
    begins, rows = [s[0] for s in steps], {kind: {} for kind in KINDS}
    for row in query(report, trace, "SELECT start_ns, dur_ns, calibration FROM op_period_record WHERE calibration IS NOT NULL"):
        i = bisect_right(begins, int(row["start_ns"]) + base + int(row["dur_ns"]) // 2) - 1
        if row["calibration"] in KINDS and i % STEPS:  # the first of a turn may contain the waiting
            rows[row["calibration"]][i] = int(row["dur_ns"])
    return rows


def interval(logs):
    """Of the geometric mean, 95 %."""
    means = sorted(mean(random.choices(logs, k=len(logs))) for _ in range(4000))
    return f"{exp(mean(logs)) - 1:+.2%} ({exp(means[100]) - 1:+.2%} to {exp(means[-101]) - 1:+.2%})"


def main(record, programs, groups, turns, python, build):
    folder_of_record = os.path.dirname(os.path.abspath(record))
    report, fakes = os.path.join(folder_of_record, "warpsheet"), os.path.join(build, "tests", "fake_cuda")
    cores = sorted(os.sched_getaffinity(0))
    # the programs have a processor of their own, if there is a second one for the recorder and for others
    pin, pin_others = (["taskset", "-c", str(core)] for core in (cores[-1], cores[0]))
    for name in programs:
        found, drift = {}, []
        for _ in range(groups):
            with tempfile.TemporaryDirectory() as folder:
                trace = folder + "/t.wtrace"
                is_torch, launches = name in ("linear", "transformer"), name == "launches"
                program = pin + ([python, __file__, "program", name, str(turns)] if is_torch else
                                 [os.path.join(build, "tests", "launching_steps"), str(STEPS), str(turns)])
                alone = {"LD_LIBRARY_PATH": fakes, "FAKE_CUPTI_VERSION": "130101"} if launches else {}
                tool = {**alone, "WARPSHEET_CUPTI_PATH": fakes + "/libcupti-fake.so"}
                commands = {"alone": (program, alone), "again": (program, alone)}
                if launches:
                    commands["idle tool"] = program, {**tool, "CUDA_INJECTION64_PATH": fakes + "/libnull_tool.so", "NULL_TOOL_IDLE": "1"}
                commands["calibrated"] = pin_others + [record, "--calibrate=30", *(["--pytorch"] if is_torch else []), "-o", trace,
                                                       "--"] + program, tool
                steps = run_group(commands, turns)
                rows = rows_of(report, trace, steps["calibrated"])

            def typical(process, column, at):
                return median(steps[process][i][column] for i in at)

            drift.append(log(typical("alone", 1, range(FIRST * STEPS + 1, turns * STEPS))))
            for kind in KINDS:
                at = list(rows[kind])
                for column, clock in (2, "processor"), (1, "clock"):
                    base = (log(typical("alone", column, at)) + log(typical("again", column, at))) / 2
                    found.setdefault((kind, clock, "A/A"), []).append(
                        log(typical("again", column, at)) - log(typical("alone", column, at)))
                    for process in commands.keys() - {"alone", "again"}:
                        found.setdefault((kind, clock, process), []).append(log(typical(process, column, at)) - base)
                found.setdefault((kind, "clock", "in the trace"), []).append(log(median(rows[kind].values())) - base)
                if launches:
                    found.setdefault((kind, "clock", "in the trace, to the idle tool"), []).append(
                        log(median(rows[kind].values())) - log(typical("idle tool", 1, at)))
        print(f"{name}, {groups} groups, {len(rows['unrecorded'])} unrecorded steps in each, {exp(mean(drift)) / 1e6:.2f} ms; "
              + (f"from group to group ±{stdev(drift):.1%}" if groups > 1 else ""))
        for (kind, clock, process), logs in found.items():
            print(f"  {kind} | {clock} | {process} | {interval(logs)}", flush=True)


if sys.argv[1:2] == ["program"]:
    train(sys.argv[2], int(sys.argv[3]))
else:
    arguments = ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    arguments.add_argument("record", metavar="WARPSHEET-RECORD", help="the program warpsheet-record; warpsheet lies beside it")
    arguments.add_argument("build", metavar="BUILD", help="the folder of the build")
    arguments.add_argument("programs", metavar="PROGRAM", nargs="+", choices=["ranges", "launches", "linear", "transformer"],
                           help="ranges (C, 201 per step), launches (the same with 200 launches), linear, transformer (PyTorch)")
    arguments.add_argument("--groups", type=int, default=30, help="groups of processes (default 30)")
    arguments.add_argument("--turns", type=int, default=42, help="turns of ten steps (default 42)")
    arguments.add_argument("--python", default=sys.executable, help="a Python with PyTorch (default: this one)")
    main(**vars(arguments.parse_args()))
