"""A training of a model on the CPU, and programs that only look faster: referee.py WAY. What `warpsheet referee` says of each:
referee.sh."""
import os
import sys

sys.path.insert(0, os.environ["WARPSHEET_PYTHON"])
import torch  # pylint: disable=wrong-import-position
import warpsheet  # pylint: disable=wrong-import-position
from torch import nn  # pylint: disable=wrong-import-position

torch.manual_seed(0)
torch.set_num_threads(1)
way = sys.argv[1]
STEPS = 6
layers = [nn.Linear(256, 256) for _ in range(6)]
batch = torch.ones(32 if way == "batch" else 64, 256)
kept = {}


def model(x):
    for layer in layers[:5] if way == "layers" else layers:
        x = layer(x)
        x = torch.nn.functional.relu(x)
    return x


def cached(x):
    if x.data_ptr() not in kept:
        kept[x.data_ptr()] = model(x)
    return kept[x.data_ptr()]


with torch.no_grad():
    if way == "precision":
        for layer in layers:
            layer.to(torch.bfloat16)
        batch = batch.to(torch.bfloat16)
    if way in ("start", "tuned"):
        results = [model(batch) for _ in range(STEPS)]
    if way == "order":
        weights = [layer.weight.sum() for layer in reversed(layers)]
    for i in range(STEPS):
        with warpsheet.annotate("step"):
            if way == "start":
                result = results[i] + 0
            elif way == "cached":
                result = cached(batch)
            elif way in ("behind", "nothing"):
                result = batch + 0
            else:
                result = model(batch)
        if way == "behind":
            result = model(batch)
    if way == "claim":
        warpsheet.fact(claimed_step_ms=1e-6)
