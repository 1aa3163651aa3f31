#!/usr/bin/env python3
"""The native training steps against PyTorch, in fp64: three steps of every model.

    torch_steps.py DUMP_STEPS GOLDEN [--update]

Each model begins with the first values and batches that DUMP_STEPS writes, and is written here
anew, with torch's own losses and optimizers. Losses, gradients and parameters after each step
must agree. --update writes torch's figures, which steps_golden.py compares where there is no
PyTorch.
"""
import math
import os
import subprocess
import sys
import tempfile

import torch
import torch.nn.functional as F

from steps_cases import CASES, figures, figures_text, read_dump

torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)
BOUND = 1e-9  # of a loss; of a tensor against the largest element that it has


def dense(p, name, x):
    return F.linear(x, p[name + ".weight"], p.get(name + ".bias"))


def conv(p, name, x, stride=1, pad=0):
    return F.conv2d(x, p[name + ".weight"], p.get(name + ".bias"), stride, pad)


def mlp(p, x):
    x = F.relu(dense(p, "fc1", x.flatten(1)))
    return dense(p, "fc3", F.relu(dense(p, "fc2", x)))


def lenet5(p, x):
    x = F.max_pool2d(F.relu(conv(p, "conv1", x, 1, 2)), 2)
    x = F.max_pool2d(F.relu(conv(p, "conv2", x)), 2).flatten(1)
    return dense(p, "fc3", F.relu(dense(p, "fc2", F.relu(dense(p, "fc1", x)))))


def lenet_caffe(p, x):
    x = F.max_pool2d(conv(p, "conv1", x), 2)
    x = F.max_pool2d(conv(p, "conv2", x), 2).flatten(1)
    return dense(p, "ip2", F.relu(dense(p, "ip1", x)))


def toy_mixed(p, x):
    x = F.relu(dense(p, "fc1", x.flatten(1)))
    return dense(p, "fc2", F.layer_norm(x, x.shape[1:], p["ln.weight"], p["ln.bias"]))


def norm(p, name, x):
    return F.batch_norm(x, None, None, p[name + ".weight"], p[name + ".bias"], True)


def resnet(p, x, blocks, bottleneck):
    x = F.max_pool2d(F.relu(norm(p, "bn1", conv(p, "conv1", x, 2, 3))), 3, 2, 1)
    for layer, count in enumerate(blocks, 1):
        for i in range(count):
            name = "layer%d.%d." % (layer, i)
            stride = 2 if layer > 1 and i == 0 else 1
            skip = x
            if name + "downsample.0.weight" in p:
                skip = norm(p, name + "downsample.1", conv(p, name + "downsample.0", x, stride))
            if bottleneck:
                y = F.relu(norm(p, name + "bn1", conv(p, name + "conv1", x)))
                y = F.relu(norm(p, name + "bn2", conv(p, name + "conv2", y, stride, 1)))
                y = norm(p, name + "bn3", conv(p, name + "conv3", y))
            else:
                y = F.relu(norm(p, name + "bn1", conv(p, name + "conv1", x, stride, 1)))
                y = norm(p, name + "bn2", conv(p, name + "conv2", y, 1, 1))
            x = F.relu(y + skip)
    return dense(p, "fc", x.mean((2, 3)))


def conv1d(p, x, residual=False):
    def conv_of(name, x):
        w = p[name + ".weight"]
        return F.conv2d(x, w, p[name + ".bias"], 1, (0, w.shape[3] // 2))

    x = torch.tanh(conv_of("upscale.0", x))
    for i in range(sum(name.endswith("conv.weight") for name in p)):
        y = F.relu(conv_of("blocks.%d.conv" % i, x))
        x = x + y if residual else y
    x = torch.tanh(conv_of("downscale.0", x)).flatten(1)
    return torch.tanh(dense(p, "fc.0", x))


def rms(x, weight):
    return weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5))


def rope(x):
    t, d = x.shape[-2:]
    angle = torch.arange(t)[:, None] * 10000.0 ** (-torch.arange(0, d, 2) / d)
    a, b = x[..., 0::2], x[..., 1::2]
    c, s = torch.cos(angle), torch.sin(angle)
    return torch.stack((a * c - b * s, a * s + b * c), -1).flatten(-2)


def transformer(p, x, heads=4):
    x = p["embedding"][x.long()]
    batch, t, d = x.shape
    mask = torch.ones(t, t, dtype=torch.bool).tril()
    for i in range(sum(name.endswith(".norm1") for name in p)):
        w = lambda name: p["layer%d.%s" % (i, name)]  # noqa: E731
        split = lambda y: y.view(batch, t, heads, -1).transpose(1, 2)  # noqa: E731
        h = rms(x, w("norm1"))
        q, k, v = (split(F.linear(h, w(n))) for n in "qkv")
        s = rope(q) @ rope(k).transpose(-1, -2) / math.sqrt(d // heads)
        y = s.masked_fill(~mask, -math.inf).softmax(-1) @ v
        x = x + F.linear(y.transpose(1, 2).reshape(batch, t, d), w("o"))
        h = rms(x, w("norm2"))
        x = x + F.linear(F.silu(F.linear(h, w("w1"))) * F.linear(h, w("w3")), w("w2"))
    return F.linear(rms(x, p["norm_final"]), p["lm_head"])


MODELS = {
    "mlp": mlp, "mlp-256": mlp, "lenet5": lenet5, "lenet-caffe": lenet_caffe,
    "toy-mixed": toy_mixed, "conv1d-resnet": conv1d, "transformer-tiny": transformer,
    "resnet18": lambda p, x: resnet(p, x, (2, 2, 2, 2), False),
    "resnet50": lambda p, x: resnet(p, x, (3, 4, 6, 3), True),
}


class Cs336(torch.optim.Optimizer):
    """The AdamW of the course: epsilon beside sqrt(v), decay after the step."""

    def __init__(self, params, lr=1e-3, eps=1e-8, weight_decay=0.01):
        super().__init__(params, {})
        self.lr, self.eps, self.decay, self.t, self.of = lr, eps, weight_decay, 0, {}

    @torch.no_grad()
    def step(self):
        self.t += 1
        alpha = self.lr * math.sqrt(1 - 0.999 ** self.t) / (1 - 0.9 ** self.t)
        for p in self.param_groups[0]["params"]:
            m, v = self.of.setdefault(p, (torch.zeros_like(p), torch.zeros_like(p)))
            m.mul_(0.9).add_(0.1 * p.grad)
            v.mul_(0.999).add_(0.001 * p.grad ** 2)
            p -= alpha * m / (v.sqrt() + self.eps)
            p -= self.lr * self.decay * p


OPTIMIZERS = {
    "adam": lambda p: torch.optim.Adam(p, lr=1e-3),
    "adamw": lambda p: torch.optim.AdamW(p, lr=1e-3, weight_decay=0.01),
    "adamw-cs336": Cs336,
    "sgd": lambda p: torch.optim.SGD(p, lr=0.01, momentum=0.9, weight_decay=1e-3),
}


def loss_of(model, y, target):
    if model == "conv1d-resnet":
        return F.mse_loss(y, target)
    return F.cross_entropy(y.flatten(0, -2), target.long().flatten())


def apart(a, b):
    return float((a - b).abs().max() / b.abs().max().clamp_min(1e-12))


def compare(case, dump):
    """Torch's figures, and how far the dump is from them."""
    to = lambda of: {name: torch.from_numpy(t.copy()) for name, t in of.items()}  # noqa: E731
    first = to(dump[("first", 0)])
    params = {name: t.requires_grad_() for name, t in first.items()}
    optimizer = OPTIMIZERS[case.optimizer](list(params.values()))
    worst, made = {"loss": 0.0, "gradient": 0.0, "parameter": 0.0}, {}
    for step in range(1, case.steps + 1):
        x, target = (to(dump[(kind, step)])[kind] for kind in ("input", "target"))
        optimizer.zero_grad()
        y = MODELS[case.model](params, x) if "residual" not in case.name else conv1d(params, x, True)
        loss = loss_of(case.model, y, target)
        loss.backward()
        if case.clip:
            torch.nn.utils.clip_grad_norm_(list(params.values()), case.clip)
        made[("loss", step)] = {"loss": loss.detach().reshape(1)}
        made[("gradient", step)] = {name: p.grad.clone() for name, p in params.items()}
        optimizer.step()
        made[("parameter", step)] = {name: p.detach().clone() for name, p in params.items()}
        for kind in worst:
            ours = to(dump[(kind, step)])
            for name, t in made[(kind, step)].items():
                worst[kind] = max(worst[kind], apart(ours[name].reshape(t.shape), t))
    return figures(made), worst


def main():
    program, golden = sys.argv[1:3]
    failed, lines = 0, []
    for case in CASES:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "steps")
            subprocess.run([program, path, str(case.steps), case.model] + case.options, check=True)
            made, worst = compare(case, read_dump(path))
        wrong = max(worst.values()) > BOUND
        failed += wrong
        print("%-28s loss %.1e, gradients %.1e, parameters %.1e%s" % (
            case.name, worst["loss"], worst["gradient"], worst["parameter"],
            ": NOT PYTORCH'S" if wrong else ""))
        lines.append(figures_text(case, made))
    if "--update" in sys.argv and not failed:
        with open(golden, "w") as out:
            out.write("# torch %s, fp64: torch_steps.py --update\n" % torch.__version__)
            out.writelines(lines)
    sys.exit(1 if failed else 0)


main()
