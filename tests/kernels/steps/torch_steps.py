#!/usr/bin/env python3
"""The native training steps against PyTorch, in fp64: three steps of every model.

    torch_steps.py DUMP_STEPS GOLDEN [--update]

Each model is written anew (torch_models.py), and begins with first values and batches drawn
anew (drawn.py): of DUMP_STEPS' file only names and shapes are taken. Values, losses, gradients
and parameters after each step must agree. --update writes torch's figures, which
steps_golden.py compares where there is no PyTorch.
"""
import os
import subprocess
import sys
import tempfile

import torch

import drawn
from steps_cases import CASES, figures, figures_text, read_dump
from torch_models import OPTIMIZERS, forward, loss_of

torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)
# Of a loss; of a tensor against the largest element that it has. Normal numbers are made of
# other formulas here: they differ by 7e-14, of which Adam's quotients make 6e-10 in ResNet-50.
BOUNDS = {"drawn": 1e-12, "loss": 1e-9, "gradient": 1e-8, "parameter": 1e-8}


def apart(a, b):
    return float((a - b).abs().max() / b.abs().max().clamp_min(1e-12))


def compare(case, dump):
    """Torch's figures, and how far the dump is from them."""
    to = lambda of: {name: torch.from_numpy(t.copy()) for name, t in of.items()}  # noqa: E731
    first = to(dump[("first", 0)])
    worst = {"drawn": 0.0, "loss": 0.0, "gradient": 0.0, "parameter": 0.0}
    made, params = {}, {}

    def meet(kind, ours, t):
        worst[kind] = max(worst[kind], apart(ours.reshape(t.shape), t))

    for name, t in first.items():
        value = drawn.first_value(case.model, name, list(t.shape), "residual" in case.name)
        params[name] = torch.from_numpy(value)
        meet("drawn", t, params[name])
        params[name].requires_grad_()
    optimizer = OPTIMIZERS[case.optimizer](list(params.values()))
    for step in range(1, case.steps + 1):
        ours = {kind: to(dump[(kind, step)]) for kind in ("input", "target", "loss", "gradient",
                                                          "parameter")}
        x, target = (torch.from_numpy(v) for v in drawn.batch(
            case.model, step - 1, list(ours["input"]["input"].shape),
            list(ours["target"]["target"].shape), case.classes))
        meet("drawn", ours["input"]["input"], x)
        meet("drawn", ours["target"]["target"], target)
        optimizer.zero_grad()
        y = forward(case.model + " residual" * ("residual" in case.name), params, x,
                    lambda name, v: v * torch.from_numpy(drawn.dropout(name, list(v.shape), step - 1)))
        loss = loss_of(case.model, y, target)
        loss.backward()
        if case.clip:
            torch.nn.utils.clip_grad_norm_(list(params.values()), case.clip)
        made[("loss", step)] = {"loss": loss.detach().reshape(1)}
        made[("gradient", step)] = {name: p.grad.clone() for name, p in params.items()}
        optimizer.step()
        made[("parameter", step)] = {name: p.detach().clone() for name, p in params.items()}
        for kind in ("loss", "gradient", "parameter"):
            for name, t in made[(kind, step)].items():
                meet(kind, ours[kind][name], t)
    return figures(made), worst


def main():
    program, golden = sys.argv[1:3]
    failed, lines = 0, []
    for case in CASES:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "steps")
            subprocess.run([program, path, str(case.steps), case.model] + case.options, check=True)
            made, worst = compare(case, read_dump(path))
        wrong = any(worst[kind] > bound for kind, bound in BOUNDS.items())
        failed += wrong
        print("%-28s drawn %.1e, loss %.1e, gradients %.1e, parameters %.1e%s" % (
            case.name, worst["drawn"], worst["loss"], worst["gradient"], worst["parameter"],
            ": NOT PYTORCH'S" if wrong else ""))
        lines.append(figures_text(case, made))
    if "--update" in sys.argv and not failed:
        with open(golden, "w") as out:
            out.write("# torch %s, fp64: torch_steps.py --update\n" % torch.__version__)
            out.writelines(lines)
    sys.exit(1 if failed else 0)


main()
