"""Steps that --calibrate does not record, against the same steps of runs without the recorder.

Whole processes take turns: without the recorder, with --calibrate. All make the same steps of the same data and time them themselves: from
behind what switches recording before a step to before what does so behind it. Of each process the lower quartile and the median of its
steps count, of each turn the ratio to the mean of the runs without it directly before and after. Printed are the median of these ratios
and its interval of 95 % by order statistics. Each run without the recorder against the next one, in the same way, is the noise (A/A)."""
import csv
import os
import subprocess
import sys
import tempfile
import time
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from bisect import bisect_left
from math import comb
from statistics import median, quantiles

FIRST = 20  # steps that --calibrate always records
STEPS = {"ranges": 4000, "linear": 2000, "transformer": 400}


def ranges(timed):
    import nvtx

    def work(n):
        total = 0
        for i in range(n):
            total += i * i
        return total

    def step():
        with nvtx.annotate("step"):
            with timed:
                for _ in range(50):
                    with nvtx.annotate("part"):
                        work(60)
    return step


def trained(model, inputs, loss_of, timed):
    """Steps that end with the optimizer's."""
    import torch
    optimizer = torch.optim.AdamW(model.parameters())
    optimizer.register_step_post_hook(lambda *_: timed.__exit__())

    def step():
        timed.__enter__()
        optimizer.zero_grad()
        loss_of(model(inputs)).backward()
        optimizer.step()
    return step


def linear(timed):
    import torch
    from torch import nn
    model = nn.Sequential(*[nn.Linear(32, 32) for _ in range(12)])
    return trained(model, torch.ones(8, 32), lambda y: y.sum(), timed)


def transformer(timed):
    import torch
    from torch import nn
    model = nn.Sequential(nn.Embedding(100, 64), *[nn.TransformerEncoderLayer(64, 4, 256, 0, batch_first=True) for _ in range(4)],
                          nn.LayerNorm(64), nn.Linear(64, 100))
    tokens = torch.randint(0, 100, (4, 32))
    return trained(model, tokens, lambda y: nn.functional.cross_entropy(y.view(-1, 100), tokens.view(-1)), timed)


class Timed:
    """The times of each step: its begin on the clock of traces, the clock's and the processor's time of it."""

    def __init__(self):
        self.steps = []

    def __enter__(self):
        self.begin = time.clock_gettime_ns(time.CLOCK_MONOTONIC), time.thread_time_ns()

    def __exit__(self, *_):
        processor, wall = time.thread_time_ns(), time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        self.steps.append((self.begin[0], wall - self.begin[0], processor - self.begin[1]))


def program(name):
    if name != "ranges":
        import torch
        torch.manual_seed(0)
        torch.set_num_threads(1)
    timed = Timed()
    step = globals()[name](timed)
    for _ in range(STEPS[name]):
        step()
    print("steps", *(",".join(map(str, s)) for s in timed.steps), flush=True)


def steps_of(name, command, python):
    out = subprocess.run([*command, python, __file__, "program", name], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True).stdout
    return [tuple(map(int, s.split(","))) for s in out.split("steps ")[1].split()]


def query(path, trace, sql):
    out = subprocess.run([path, "query", trace, sql, "--format", "csv"], stdout=subprocess.PIPE, text=True, check=True).stdout
    return list(csv.DictReader(out.splitlines()))


def of_kinds(steps, report, trace):
    """The steps of each kind, by their rows in the trace, which may begin before the program reads its clock."""
    base = int(query(report, trace, "SELECT value FROM meta_record WHERE key = 'clock.base_ns'")[0]["value"])
    starts, found = [s[0] for s in steps], {"unrecorded": [], "compared": []}
    for row in query(report, trace, "SELECT start_ns, dur_ns, calibration FROM op_period_record WHERE calibration IN ('unrecorded', 'compared')"):
        start = int(row["start_ns"]) + base
        i = bisect_left(starts, start)
        if i < len(starts) and starts[i] < start + int(row["dur_ns"]):
            found[row["calibration"]].append(steps[i])
    return found


def summary(steps):
    """Processor's time and the clock's, of each the lower quartile and the median."""
    return [f([s[column] for s in steps]) for column in (2, 1) for f in (lambda x: quantiles(x)[0], median)]


def interval(ratios):
    """Of the median, 95 %, whatever the distribution."""
    ratios, n, below, k = sorted(ratios), len(ratios), 0.0, 0
    while below + comb(n, k) / 2 ** n <= 0.025:
        below += comb(n, k) / 2 ** n
        k += 1
    return f"{median(ratios) - 1:+.1%} ({ratios[max(k - 1, 0)] - 1:+.1%} to {ratios[min(n - k, n - 1)] - 1:+.1%})"


def main(record, programs, rounds, python):
    report = os.path.join(os.path.dirname(record), "warpsheet")
    for name in programs:
        without, found = [], {"unrecorded": [], "compared": []}
        with tempfile.TemporaryDirectory() as folder:
            trace = folder + "/t.wtrace"
            options = ["--calibrate=30", *([] if name == "ranges" else ["--pytorch"]), "-o", trace, "--force", "--"]
            for i in range(rounds + 1):
                without.append(summary(steps_of(name, [], python)[FIRST:]))
                if i < rounds:
                    kinds = of_kinds(steps_of(name, [record, *options], python), report, trace)
                    for kind, steps in kinds.items():
                        found[kind].append(summary(steps))
        print(f"{name}, {rounds} turns, {len(kinds['unrecorded'])} unrecorded steps in each")
        for i, what in enumerate(("processor, lower quartile", "processor, median", "wall, lower quartile", "wall, median")):
            alone = [w[i] for w in without]
            print(f"  {what}: {median(alone) / 1e6:.3f} ms; A/A {interval([b / a for a, b in zip(alone, alone[1:])])}", *(
                f"{kind} {interval([2 * r[i] / (a + b) for r, a, b in zip(found[kind], alone, alone[1:])])}" for kind in found), sep="; ", flush=True)


if sys.argv[1:2] == ["program"]:
    program(sys.argv[2])
else:
    arguments = ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    arguments.add_argument("record", metavar="WARPSHEET-RECORD", help="the program warpsheet-record; warpsheet lies beside it")
    arguments.add_argument("programs", metavar="PROGRAM", nargs="+", choices=STEPS, help=", ".join(STEPS))
    arguments.add_argument("--rounds", type=int, default=10, help="turns of each program (default 10)")
    arguments.add_argument("--python", default=sys.executable, help="a Python with PyTorch and nvtx (default: this one)")
    main(**vars(arguments.parse_args()))
