"""A training of a model on the CPU, and programs that only look faster: referee.py WAY. What `warpsheet referee` says of each:
referee.sh."""
import os
import sys
import threading

sys.path.insert(0, os.environ["WARPSHEET_PYTHON"])
import torch  # pylint: disable=wrong-import-position
import warpsheet  # pylint: disable=wrong-import-position
from torch import nn  # pylint: disable=wrong-import-position

torch.manual_seed(0)
torch.set_num_threads(1)
way = sys.argv[1]
STEPS = 6
WIDTH = 64 if way == "narrow" else 256
layers = [nn.Linear(WIDTH, WIDTH) for _ in range(6)]
batch = torch.ones(32 if way == "batch" else 64, WIDTH)
kept, behind = {}, []


def model(x):
    if way == "split":  # two halves of the batch, one after the other
        return torch.cat([of_layers(half) for half in x.chunk(2)])
    if way == "numpy":
        for layer in layers:
            x = (x @ layer.weight.numpy().T + layer.bias.numpy()).clip(0)
        return x
    return of_layers(x)


def of_layers(x):
    for i, layer in enumerate(layers[:5] if way == "layers" else layers):
        if way == "buffers":  # results are kept in two buffers
            x = torch.addmm(layer.bias, x, layer.weight.t(), out=buffers[i % 2]).relu_()
        elif way == "einsum":
            x = (torch.einsum("bi,oi->bo", x, layer.weight) + layer.bias).relu()
        else:
            x = torch.nn.functional.relu(layer(x))
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
    if way == "warm-up":
        with warpsheet.annotate("warm-up"):
            results = [model(batch) for _ in range(STEPS)]
    if way == "meta":  # tensors without memory
        batch, layers = batch.to("meta"), [layer.to("meta") for layer in layers]
    if way == "numpy":
        batch = batch.numpy()
    if way == "buffers":
        buffers = [torch.empty(64, 256) for _ in range(2)]
    if way == "process":  # a child does it
        to_child, from_child = os.pipe(), os.pipe()
        if not os.fork():
            while os.read(to_child[0], 1) == b"\n":
                kept = model(batch)
                os.write(from_child[1], b"\n")
            os._exit(0)
    if way == "thread":  # that works when all steps are over
        are_over = threading.Event()
        behind = [threading.Thread(target=lambda: are_over.wait() and torch.no_grad()(model)(batch)) for _ in range(STEPS)]
        for thread in behind:
            thread.start()
    if way == "order":
        weights = [layer.weight.sum() for layer in reversed(layers)]
    for i in range(STEPS):
        with warpsheet.annotate("step"):
            if way in ("start", "warm-up"):
                result = results[i] + 0
            elif way == "process":
                os.write(to_child[1], b"\n")
                os.read(from_child[0], 1)
            elif way == "cached":
                result = cached(batch)
            elif way in ("behind", "nothing", "thread"):
                result = batch + 0
            else:
                result = model(batch)
        if way == "behind":
            result = model(batch)
    if way == "process":
        os.write(to_child[1], b".")
        os.wait()
    for thread in behind:
        are_over.set()
        thread.join()
    if way == "claim":
        warpsheet.fact(claimed_step_ms=1e-6)
