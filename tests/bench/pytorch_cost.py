"""What --pytorch costs, on a CPU.

A training step that the host limits, 100 times, in each way of recording: every second step, or every second block of
one operation, runs in the same process without callbacks and hooks. So a busy machine slows both alike, and the ratio of their
times stays. Times are processor times of the thread. Each way is a process of its own, the ways take turns, and of the rounds
the median and the range are printed. Last, a Python that does nothing, with and without --pytorch."""
import subprocess
import sys
import tempfile
import time
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from contextlib import nullcontext
from resource import RUSAGE_CHILDREN, getrusage
from statistics import median

STEPS = 100
OPERATIONS = 100  # of a block
PROFILED = 25  # steps in turn under PyTorch's profiler
WAYS = {"not recorded (A/A)": None, "--pytorch=names": "names", "--pytorch=shapes (default)": "shapes",
        "--pytorch=full": "full", "torch.profiler, record_shapes=True": "profiler"}


def transformer():
    import torch
    from torch import nn
    model = nn.Sequential(nn.Embedding(100, 64), *[nn.TransformerEncoderLayer(64, 4, 256, 0, batch_first=True) for _ in range(4)],
                          nn.LayerNorm(64), nn.Linear(64, 100))
    optimizer = torch.optim.AdamW(model.parameters())
    tokens = torch.randint(0, 100, (4, 32))

    def step():
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(tokens).view(-1, 100), tokens.view(-1)).backward()
        optimizer.step()
    return step


def addition():
    import torch
    x = torch.ones(4)

    def block():
        with torch.no_grad():
            for _ in range(OPERATIONS):
                torch.add(x, x)
    return block


def profiler():
    import torch
    return torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], record_shapes=True)


def program(name, way):
    """Prints the times of the steps without and with callbacks and hooks, in turns."""
    import torch
    from torch.nn.modules import module
    from torch.optim import optimizer
    torch.manual_seed(0)
    torch.set_num_threads(1)
    step, times = globals()[name](), ([], [])
    hooks = [module._global_forward_pre_hooks, module._global_forward_hooks, module._global_forward_hooks_always_called,
             optimizer._global_optimizer_pre_hooks]
    first = [dict(of) for of in hooks]
    for of in hooks:
        of.clear()
    torch.autograd._enable_record_function(False)
    for _ in range(3):
        step()
    for of, hook in zip(hooks, first):
        of.update(hook)
    in_turn = PROFILED if way == "profiler" else 1  # starting PyTorch's profiler takes long, and is not counted
    for _ in range(STEPS // in_turn):
        for is_on in 0, 1:
            torch.autograd._enable_record_function(bool(is_on))
            if is_on:
                for of, hook in zip(hooks, kept):
                    of.update(hook)
            else:
                kept = [dict(of) for of in hooks]  # the recorder changes them between steps
                for of in hooks:
                    of.clear()
            with (profiler() if way == "profiler" and is_on else nullcontext()):
                for _ in range(in_turn):
                    begin = time.thread_time_ns()
                    step()
                    times[is_on].append(time.thread_time_ns() - begin)
    print("times", *map(sum, times), *map(median, times), flush=True)


def command(record, folder, way):
    return [] if way in (None, "profiler") else [record, "-o", folder + "/%p.wtrace", f"--pytorch={way}", "--"]


def measure(record, name, ways, rounds, folder):
    found = {way: [] for way in ways}
    for _ in range(rounds):
        for way in ways:
            out = subprocess.run([*command(record, folder, WAYS[way]), sys.executable, __file__, "program", name, str(WAYS[way])],
                                 stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True).stdout
            found[way].append([float(t) for t in out.split("times")[1].split()])
    return found


def started(record, folder, options):
    """Processor time of a Python that does nothing, and of what starts it, in ms."""
    before = getrusage(RUSAGE_CHILDREN)
    subprocess.run([record, "-o", folder + "/start.wtrace", *options, "--", sys.executable, "-c", "pass"],
                   stderr=subprocess.DEVNULL, check=True)
    after = getrusage(RUSAGE_CHILDREN)
    return 1e3 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def main(record, rounds):
    with tempfile.TemporaryDirectory() as folder:
        print(f"{STEPS} steps of a transformer: without, with; ratio of the sums (median, range of {rounds} runs); of the median steps")
        for way, runs in measure(record, "transformer", WAYS, rounds, folder).items():
            ratios = [with_ / without - 1 for without, with_, *_ in runs]
            print(f"{way}: {median(r[0] for r in runs) / STEPS / 1e6:.2f}, {median(r[1] for r in runs) / STEPS / 1e6:.2f} ms; "
                  f"{median(ratios):+.1%} ({min(ratios):+.1%} to {max(ratios):+.1%}); {median(r[3] / r[2] - 1 for r in runs):+.1%}", flush=True)
        print("torch.add, medians of blocks: without; added by an operation (median, range)")
        ways = [way for way in WAYS if WAYS[way] not in ("shapes", "profiler")]
        for way, runs in measure(record, "addition", ways, rounds, folder).items():
            added = [(r[3] - r[2]) / OPERATIONS for r in runs]
            print(f"{way}: {median(r[2] for r in runs) / OPERATIONS:.0f} ns; {median(added):+.0f} ns "
                  f"({min(added):+.0f} to {max(added):+.0f})", flush=True)
        turns = [[started(record, folder, options) for options in ([], [], ["--pytorch"])] for _ in range(5 * rounds)]
        print(f"python -c pass, recorded without and with --pytorch: {median(t[0] for t in turns):.1f}, "
              f"{median(t[2] for t in turns):.1f} ms; {median(t[2] - t[0] for t in turns):+.1f} ms, "
              f"A/A {median(t[1] - t[0] for t in turns):+.1f} ms")


if sys.argv[1:2] == ["program"]:
    program(*sys.argv[2:])
else:
    arguments = ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    arguments.add_argument("record", metavar="WARPSHEET-RECORD", help="the program warpsheet-record")
    arguments.add_argument("rounds", metavar="ROUNDS", type=int, nargs="?", default=7, help="runs of each way (default 7)")
    main(**vars(arguments.parse_args()))
