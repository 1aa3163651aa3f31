#!/usr/bin/env python3
"""The table of docs/dev/kernels.md: kernels a step, ours beside PyTorch's.

    kernels_table.py WARPSHEET_STEP COUNTS DOCUMENT [--update]

Ours are counted in the graph (--describe), PyTorch's in COUNTS (torch_kernels.py). Exit status 1
where the document says something else; --update writes it anew.
"""
import re
import subprocess
import sys

from steps_cases import COUNTED, OPTIMIZER_FORMS

BEGIN, END = "<!-- begin: kernels_table.py -->\n", "<!-- end: kernels_table.py -->\n"
PHASES = ("forward", "loss", "backward", "optimizer")


def of_graph(step, model, *options):
    told = subprocess.run([step, "--model", model, "--describe"] + list(options), check=True,
                          capture_output=True, text=True).stdout
    return {phase: int(re.search(r"^%s +(\d+) " % phase, told, re.M).group(1)) for phase in PHASES}


def table(step, counts):
    lines = ["| model | forward: ours, PyTorch | loss | backward | optimizer |\n", "|---|---|---|---|---|\n"]
    for model in COUNTED:
        ours, cells = of_graph(step, model), []
        for phase in PHASES:
            operations, kernels = counts[model, phase]
            more = " (%d)" % operations if operations != kernels else ""
            cells.append("%d, %d%s" % (ours[phase], kernels, more))
        lines.append("| %s | %s |\n" % (model, " | ".join(cells)))
    lines += ["\n", "| optimizer of mlp's 6 tensors | loop: ours, PyTorch | foreach | fused |\n", "|---|---|---|---|\n"]
    row = []
    for name, form in OPTIMIZER_FORMS:
        decay = ["--weight-decay", "1e-3"] if name == "sgd" else []
        ours = of_graph(step, "mlp", "--optimizer", name, "--optimizer-impl", form, *decay)
        row.append("%d, %d" % (ours["optimizer"], counts["%s %s" % (name, form), "optimizer"][1]))
        if form == "fused":
            lines.append("| %s | %s |\n" % (name, " | ".join(row)))
            row = []
    return "".join(lines)


def main():
    step, path, document = sys.argv[1:4]
    counts = {}
    with open(path) as lines:
        for line in lines:
            if not line.startswith("#"):
                model, phase, operations, kernels = line.split("\t")
                counts[model, phase] = int(operations), int(kernels)
    with open(document) as text:
        before, rest = text.read().split(BEGIN)
        said, after = rest.split(END)
    made = table(step, counts)
    if "--update" in sys.argv:
        with open(document, "w") as out:
            out.write(before + BEGIN + made + END + after)
    for a, b in zip(said.splitlines(), made.splitlines()):
        if a != b:
            print("the document: %s\nit is:        %s" % (a, b))
    if said != made and "--update" not in sys.argv:
        sys.exit("%s: %s --update" % (document, sys.argv[0]))


main()
