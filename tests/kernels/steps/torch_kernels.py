#!/usr/bin/env python3
"""How many kernels an eager step of PyTorch launches, by model and phase.

    torch_kernels.py WARPSHEET_STEP COUNTS [--update]

The models are those of torch_models.py; transformers are written as the course's handout has
them. Operations are counted as PyTorch dispatches them on a CPU, but views and empty tensors.
What they launch on a GPU follows from their public structure: see kernels_of(). COUNTS
(fixtures/golden/kernels.tsv) must be what was counted; --update writes it. kernels_table.py
holds the table of docs/dev/kernels.md to it.
"""
import math
import re
import subprocess
import sys

import torch
import torch.nn.functional as F
from torch.utils._python_dispatch import TorchDispatchMode

from steps_cases import COUNTED, OPTIMIZER_FORMS
from torch_models import OPTIMIZERS, forward, loss_of

torch.set_num_threads(1)
NO_WORK = set("""view _unsafe_view reshape t transpose permute expand unsqueeze squeeze select slice
alias detach as_strided split split_with_sizes unbind empty empty_like empty_strided new_empty
new_empty_strided lift_fresh _local_scalar_dense _record_function_enter_new _record_function_exit""".split())
SHAPES = {"mlp": (1, 28, 28), "mlp-256": (1, 28, 28), "lenet5": (1, 28, 28),
          "lenet-caffe": (1, 28, 28), "toy-mixed": (1, 28, 28), "conv1d-resnet": (3, 1, 256)}


def kernels_of(name, args):
    """Of an operation on a GPU. A convolution adds its bias in a kernel of its own; its gradient
    is one for each of input, weight and bias; the mean squared error writes all errors and then
    adds them. Dropout is one operation there, and three here, of which the product counts."""
    if name == "convolution":
        return 1 + (args[2] is not None)
    if name == "convolution_backward":
        return sum(args[-1])
    if name == "mse_loss":
        return 2
    return 0 if name in ("bernoulli_", "div_") else 1


class Count(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.operations = self.kernels = 0
        self.names = {}

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        name = func.overloadpacket.__name__
        # the steps that an optimizer counts lie on the host
        if name.startswith("_foreach"):
            of_host = not args[0][0].ndim
        else:
            of_host = name == "add_" and not args[0].ndim
        if name not in NO_WORK and not of_host:
            self.operations += 1
            self.kernels += kernels_of(name, args)
            self.names[name] = self.names.get(name, 0) + 1
        return result


# --- transformers as the handout has them ---------------------------------------------------------


def softmax(x):
    e = torch.exp(x - x.max(-1, keepdim=True)[0])
    return e / e.sum(-1, keepdim=True)


def rms(x, weight):
    return x / torch.sqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * weight


def silu(x):
    return x * torch.sigmoid(x)


class Handout:
    """What a model makes once is made here: the mask, and the table of RoPE."""

    def __init__(self, p, t, heads):
        self.p, self.heads = p, heads
        width = p["embedding"].shape[1] // heads
        angle = torch.arange(t)[:, None] * 10000.0 ** (-torch.arange(0, width, 2) / width)
        self.cos, self.sin = torch.cos(angle), torch.sin(angle)
        self.hidden = ~torch.ones(t, t, dtype=torch.bool).tril()
        self.layers = sum(name.endswith(".norm1") for name in p)

    def rope(self, x):
        a, b = x[..., 0::2], x[..., 1::2]
        return torch.stack((a * self.cos - b * self.sin, a * self.sin + b * self.cos), -1).flatten(-2)

    def layer(self, i, x):
        w = lambda name: self.p["layer%d.%s" % (i, name)]  # noqa: E731
        batch, t, d = x.shape
        split = lambda y: y.view(batch, t, self.heads, -1).transpose(1, 2)  # noqa: E731
        h = rms(x, w("norm1"))
        q, k, v = (split(F.linear(h, w(n))) for n in "qkv")
        s = self.rope(q) @ self.rope(k).transpose(-1, -2) / math.sqrt(d // self.heads)
        y = softmax(s.masked_fill(self.hidden, -math.inf)) @ v
        x = x + F.linear(y.transpose(1, 2).reshape(batch, t, d), w("o"))
        h = rms(x, w("norm2"))
        return x + F.linear(silu(F.linear(h, w("w1"))) * F.linear(h, w("w3")), w("w2"))

    def forward(self, tokens):
        x = F.embedding(tokens, self.p["embedding"])
        for i in range(self.layers):
            x = self.layer(i, x)
        return F.linear(rms(x, self.p["norm_final"]), self.p["lm_head"])


def cross_entropy(logits, target):
    x = logits - logits.max(-1, keepdim=True)[0]
    picked = x.gather(-1, target[..., None])[..., 0]
    return (torch.log(torch.exp(x).sum(-1)) - picked).mean()


# --- counting -------------------------------------------------------------------------------------


def parameters(step, model):
    """By name, of the shapes that --describe prints."""
    told = subprocess.run([step, "--model", model, "--describe"], check=True, capture_output=True,
                          text=True).stdout.split("parameter tensors")[1].split("\n\n")[0]
    return {name: (torch.rand([int(d) for d in dims.split("x")]) / 8).requires_grad_()
            for name, dims in re.findall(r"^  (\S+) +fp32\[([\dx]+)\]$", told, re.M)}


def add_batch_norms(p, count):
    """Each counts its batches, which the functions do not that these models are made of."""
    count.kernels += sum(re.search(r"(bn\d|downsample\.1)\.weight$", name) is not None for name in p)


def counts_of(step, model):
    p, phases = parameters(step, model), {}
    is_text, is_signal = model.startswith("transformer"), model == "conv1d-resnet"
    optimizer = OPTIMIZERS["adamw-cs336" if is_text else "adam"](list(p.values()))
    shape = SHAPES.get(model, (3, 224, 224))
    x = torch.randint(0, 256, (1, 16)) if is_text else torch.rand((1,) + shape)
    target = x if is_text else torch.rand(1, 1) if is_signal else torch.zeros(1, dtype=torch.long)
    handout = Handout(p, 16, 12 if model == "transformer-small" else 4) if is_text else None

    def phase(name, run):
        with Count() as count:
            result = run()
        phases[name] = count
        return result

    dropout = lambda name, v: F.dropout(v, 0.5)  # noqa: E731
    y = phase("forward", (lambda: handout.forward(x)) if is_text
              else lambda: forward(model, p, x, dropout))
    add_batch_norms(p, phases["forward"])
    loss = phase("loss", (lambda: cross_entropy(y, target)) if is_text
                 else lambda: loss_of(model, y, target))
    phase("backward", loss.backward)
    optimizer.step()  # makes its state
    phase("optimizer", optimizer.step)
    return phases


def optimizer_of(p, name, form):
    how = {"foreach": form == "foreach", "fused": form == "fused" or None}
    if name == "sgd":
        return torch.optim.SGD(p, lr=0.01, momentum=0.9, weight_decay=1e-3, **how)
    return {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[name](p, **how)


def count_of_form(step, name, form):
    p = list(parameters(step, "mlp").values())
    for t in p:
        t.grad = torch.ones_like(t)
    optimizer = optimizer_of(p, name, form)
    optimizer.step()  # makes its state
    with Count() as count:
        optimizer.step()
    return count


def main():
    step, path = sys.argv[1:3]
    lines = []
    for model in COUNTED:
        for name, count in counts_of(step, model).items():
            lines.append("%s\t%s\t%d\t%d\n" % (model, name, count.operations, count.kernels))
            if "--names" in sys.argv:
                print(model, name, count.names)
    for name, form in OPTIMIZER_FORMS:
        count = count_of_form(step, name, form)
        lines.append("%s %s\toptimizer\t%d\t%d\n" % (name, form, count.operations, count.kernels))
    with open(path) as known:
        said = [line for line in known if not line.startswith("#")]
    apart = set(said).symmetric_difference(lines)
    if "--update" in sys.argv:
        with open(path, "w") as out:
            out.write("# model, phase, operations and kernels; torch %s: torch_kernels.py --update\n"
                      % torch.__version__)
            out.writelines(lines)
    for line in sorted(apart):
        print("%s: %s" % ("counted" if line in lines else "written", line.rstrip()))
    print("%d phases, %d differ" % (len(lines), len(apart)))
    sys.exit(1 if apart and "--update" not in sys.argv else 0)


main()
