"""--step auto takes the best candidate in every comparison, and says which; the hint's command makes its numbers.

    python3 auto_steps.py SCENARIO_TRACE [TRACE...]
"""
import csv
import io
import os
import re
import shlex
import sys
import tempfile

import scenario

program, real = scenario.Program(sys.argv[1]), sys.argv[2:]


def trace(path, name, step_us):
    """Five repeated ranges, 90 % of the GPU time in them; without a name none repeats."""
    lines = ["push 0 main"]
    for i in range(5):
        at = step_us * i
        lines += [f"push {at + 1}us \"{name} {i}\"" if name else f"push {at + 1}us \"{'abcde'[i] * 3}\"",
                  f"launch {at + 3}us k {at + 20}us 18us", f"pop {at + 81}us"]
    program.write_trace("\n".join(lines + [f"pop {5 * step_us}us", ""]), path)


def summary(*arguments):
    """item -> its first row"""
    rows = {}
    for row in csv.reader(io.StringIO(program.run("report", "--table", "summary", "--format", "csv", *arguments).stdout)):
        rows.setdefault(row[1], row[2:5])
    return rows


def keeps_its_promise(path):
    """Does the command of the hint make as many steps, as long, as the hint says?"""
    told = summary(path)
    hint = re.fullmatch(r"No range is called step. Likely: (--step .*) \(\S+ × \S+ \S+\)", told["measured steps"][0])
    if not hint:
        print(f"{path}: no hint: {told['measured steps']}")
        return False
    steps = summary(path, *shlex.split(hint.group(1)))
    _, count, mean = told["candidate for steps"]
    got = steps["measured steps"][1], (steps.get("step, mean") or steps["step"])[2]
    if got != (count, mean):
        print(f"{path}: {hint.group(0)} promised {count} × {mean} ns, got {got}")
    return got == (count, mean)


def promises(folder):
    """Names that a shell would change; kernels that run on behind their steps, of two streams."""
    path = os.path.join(folder, "hint.wtrace")
    for name in ("Iteration", "it's step", "a $HOME `step`", "train_step"):
        lines = ["push 0 main", f'push 1 "{name} before all work"', "pop 2"]
        for i in range(5):
            lines += [f'push {100 * i + 1} "{name} {i}"', f"launch {100 * i + 3} k {100 * i + 60} {40 + 5 * i}",
                      f"launch {100 * i + 5} l {100 * i + 60} 90 stream=8", f"pop {100 * i + 41 + i}"]
        program.write_trace("\n".join(lines + ["pop 990", ""]), path)
        yield keeps_its_promise(path)
    for path in real:
        if os.path.exists(path):
            yield keeps_its_promise(path)
        else:
            print(f"skipped: {path} is not here")


def main():
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        a, b, none = (os.path.join(folder, f"{n}.wtrace") for n in ("a", "b", "none"))
        trace(a, "Iteration", 100)
        trace(b, "Iteration", 120)
        trace(none, "", 100)
        gate = ["gate", "--baseline", os.path.join(folder, "base"), "--workload", "loop"]
        for command, traces in ((["diff"], [a, b]), (["aa"], [a, b]), (["sweep"], [a, b]), (["report"], [a, b]),
                                (gate + ["--update"], ["--", a]), (gate, ["--", b])):
            told = program.run(*command, "--step", "auto", *traces)
            name = command[0]
            if "Steps of" not in told.stderr or "ranges 'Iteration *' (--step auto)" not in told.stderr:
                wrong += 1
                print(f"{name}: says nothing of its steps: {told.returncode} {told.stderr}")
        refused = program.run("diff", none, a, "--step", "auto")
        if refused.returncode != 2 or "no range of" not in refused.stderr:
            wrong += 1
            print(f"diff without candidates: {refused.returncode} {refused.stderr}")
        plain = program.run("diff", a, b)
        if "Steps of" in plain.stderr:
            wrong += 1
            print("diff takes candidates without being asked")
        wrong += list(promises(folder)).count(False)
    return wrong > 0


sys.exit(main())
