#!/usr/bin/env python3
"""The native steps against figures of PyTorch's: steps_golden.py DUMP_STEPS GOLDEN

Of every case loss and norms of all gradients and of all parameters after each of three steps, as
torch_steps.py --update wrote them.
"""
import os
import subprocess
import sys
import tempfile

from steps_cases import CASES, figures, read_dump

program, golden = sys.argv[1:3]
want = {}
with open(golden) as lines:
    for line in lines:
        if not line.startswith("#"):
            name, step, *numbers = line.rstrip("\n").split("\t")
            want[name, int(step)] = [float(x) for x in numbers]
failed = 0
for case in CASES:
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "steps")
        subprocess.run([program, path, str(case.steps), case.model] + case.options, check=True)
        rows = figures(read_dump(path))
    assert len(rows) == case.steps
    for step, row in enumerate(rows, 1):
        for what, got, torch in zip(("loss", "gradients", "parameters"), row,
                                    want.pop((case.name, step))):
            if not abs(got - torch) <= 1e-9 * abs(torch):
                failed += 1
                print("%s, step %d: %s %.17g, PyTorch's %.17g" % (case.name, step, what, got, torch))
print("%d cases, %d figures differ" % (len(CASES), failed))
sys.exit(1 if failed or want else 0)
