"""--step auto takes the best candidate in every comparison, and says which.

    python3 auto_steps.py SCENARIO_TRACE
"""
import os
import sys
import tempfile

import scenario

program = scenario.Program(sys.argv[1])


def trace(path, name, step_us):
    """Five repeated ranges, 90 % of the GPU time in them; without a name none repeats."""
    lines = ["push 0 main"]
    for i in range(5):
        at = step_us * i
        lines += [f"push {at + 1}us \"{name} {i}\"" if name else f"push {at + 1}us \"{'abcde'[i] * 3}\"",
                  f"launch {at + 3}us k {at + 20}us 18us", f"pop {at + 81}us"]
    program.write_trace("\n".join(lines + [f"pop {5 * step_us}us", ""]), path)


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
    return wrong > 0


sys.exit(main())
