#!/usr/bin/env python3
"""Golden tensors for conventions that a formula cannot settle.

Run by hand with Debian's python3-torch; torch is no test dependency, the
results lie in fixtures/golden/. Everything is computed in double.

    python3 tests/golden/make_golden.py fixtures/golden

Format: `tensor NAME D0xD1x…` and then the values, row-major, %.17g, ten a
line. Inputs are stored beside the outputs, so a test needs no random number.
"""
import math
import os
import sys

import torch
import torch.nn.functional as F

torch.set_default_dtype(torch.float64)


def wave(*shape, phase=0.0, scale=1.0):
    """Deterministic values without a pattern that hides a transposition."""
    n = math.prod(shape)
    i = torch.arange(n, dtype=torch.float64)
    return (scale * torch.sin(0.7 * i + 0.013 * i * i + phase)).reshape(shape)


class Golden:
    def __init__(self, folder, name):
        self.path = os.path.join(folder, name + ".txt")
        self.lines = ["# made by tests/golden/make_golden.py, torch " + torch.__version__]

    def add(self, name, tensor):
        t = tensor.detach().to(torch.float64)
        dims = "x".join(str(d) for d in t.shape) or "1"
        self.lines.append(f"tensor {name} {dims}")
        flat = t.reshape(-1).tolist()
        for i in range(0, len(flat), 10):
            self.lines.append(" ".join("%.17g" % v for v in flat[i : i + 10]))

    def write(self):
        with open(self.path, "w", encoding="ascii") as f:
            f.write("\n".join(self.lines) + "\n")


def conv(folder):
    g = Golden(folder, "conv")
    cases = {
        # name: (input NCHW, filter KCRS, stride, pad, groups)
        "plain": ((2, 3, 7, 6), (4, 3, 3, 2), 1, 1, 1),
        "stride2": ((2, 3, 9, 8), (5, 3, 3, 3), 2, 1, 1),
        "groups3": ((1, 6, 5, 5), (9, 2, 3, 3), 1, 1, 3),
        "big_stride": ((1, 3, 15, 15), (2, 3, 7, 7), 4, 2, 1),
        "point": ((2, 4, 3, 3), (3, 4, 1, 1), 1, 0, 1),
    }
    for name, (xs, ws, stride, pad, groups) in cases.items():
        x = wave(*xs).requires_grad_()
        w = wave(*ws, phase=1.0).requires_grad_()
        b = wave(ws[0], phase=2.0).requires_grad_()
        y = F.conv2d(x, w, b, stride=stride, padding=pad, groups=groups)
        dy = wave(*y.shape, phase=3.0)
        y.backward(dy)
        g.add(name + ".geometry", torch.tensor([stride, pad, groups]))
        for k, t in dict(x=x, w=w, b=b, y=y, dy=dy, dx=x.grad, dw=w.grad, db=b.grad).items():
            g.add(f"{name}.{k}", t)
    x = wave(2, 3, 16).requires_grad_()
    w = wave(4, 3, 5, phase=1.0).requires_grad_()
    b = wave(4, phase=2.0).requires_grad_()
    y = F.conv1d(x, w, b, padding=2)
    dy = wave(*y.shape, phase=3.0)
    y.backward(dy)
    for k, t in dict(x=x, w=w, b=b, y=y, dy=dy, dx=x.grad, dw=w.grad, db=b.grad).items():
        g.add(f"conv1d.{k}", t)
    g.write()


def norm_pool_loss(folder):
    g = Golden(folder, "norm_pool_loss")
    x = wave(3, 4, 3, 2).requires_grad_()
    bn = torch.nn.BatchNorm2d(4)
    bn.weight.data = wave(4, phase=1.0) + 1.5
    bn.bias.data = wave(4, phase=2.0)
    y = bn(x)
    dy = wave(*y.shape, phase=3.0)
    y.backward(dy)
    for k, t in dict(x=x, gamma=bn.weight, beta=bn.bias, y=y, dy=dy, dx=x.grad,
                     dgamma=bn.weight.grad, dbeta=bn.bias.grad,
                     running_mean=bn.running_mean, running_var=bn.running_var).items():
        g.add("batchnorm." + k, t)
    bn.eval()
    g.add("batchnorm.y_eval", bn(x))

    x = wave(2, 3, 7, 6).requires_grad_()
    y = F.max_pool2d(x, 3, stride=2, padding=1)
    dy = wave(*y.shape, phase=3.0)
    y.backward(dy)
    for k, t in dict(x=x, y=y, dy=dy, dx=x.grad).items():
        g.add("maxpool." + k, t)

    for name, out in (("adaptive_avgpool", (2, 3)), ("global_avgpool", (1, 1))):
        x = wave(2, 3, 7, 5).requires_grad_()
        y = F.adaptive_avg_pool2d(x, out)
        dy = wave(*y.shape, phase=3.0)
        y.backward(dy)
        for k, t in dict(x=x, y=y, dy=dy, dx=x.grad).items():
            g.add(f"{name}.{k}", t)

    logits = wave(5, 7, scale=3.0).requires_grad_()
    target = torch.tensor([3, 0, 6, 2, 2])
    loss = F.cross_entropy(logits, target)
    loss.backward()
    g.add("cross_entropy.logits", logits)
    g.add("cross_entropy.target", target)
    g.add("cross_entropy.loss", loss.reshape(1))
    g.add("cross_entropy.dlogits", logits.grad)

    x = wave(3, 5).requires_grad_()
    target = wave(3, 5, phase=1.0)
    loss = F.mse_loss(x, target)
    loss.backward()
    for k, t in dict(x=x, target=target, loss=loss.reshape(1), dx=x.grad).items():
        g.add("mse." + k, t)

    x = wave(4, 6).requires_grad_()
    y = F.leaky_relu(x)
    y.backward(wave(4, 6, phase=3.0))
    g.add("leaky_relu.x", x)
    g.add("leaky_relu.y", y)
    g.add("leaky_relu.dx", x.grad)
    g.write()


def optimizers(folder):
    g = Golden(folder, "optimizers")
    makers = {
        "sgd": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, weight_decay=1e-2),
        "adam": lambda p: torch.optim.Adam(p, lr=0.01, betas=(0.9, 0.999), eps=1e-8),
        "adamw": lambda p: torch.optim.AdamW(p, lr=0.01, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.1),
    }
    for name, make in makers.items():
        p = wave(3, 4).clone().requires_grad_()
        g.add(name + ".p0", p)
        opt = make([p])
        for step in range(3):
            p.grad = wave(3, 4, phase=4.0 + step)
            g.add(f"{name}.grad{step}", p.grad)
            opt.step()
            g.add(f"{name}.p{step + 1}", p)
    g.write()


# --- the transformer of the seeds, written here from its published definition --------------


def rmsnorm(x, w, eps=1e-5):
    return w * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps))


def rope(x, theta=10000.0):
    """x: [..., T, d]; pairs (0,1), (2,3), … rotate by t * theta^(-2i/d)."""
    t, d = x.shape[-2], x.shape[-1]
    freq = theta ** (-torch.arange(0, d, 2, dtype=torch.float64) / d)
    angle = torch.arange(t, dtype=torch.float64)[:, None] * freq[None, :]
    c, s = torch.cos(angle), torch.sin(angle)
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.stack((even * c - odd * s, even * s + odd * c), dim=-1).flatten(-2)


def transformer(folder):
    g = Golden(folder, "transformer")
    vocab, d, f, layers, heads, batch, t = 11, 8, 16, 2, 2, 2, 5
    g.add("shape", torch.tensor([vocab, d, f, layers, heads, batch, t]))
    params = {}

    def param(name, *shape, phase, base=0.0, scale=0.4):
        params[name] = (wave(*shape, phase=phase, scale=scale) + base).requires_grad_()
        return params[name]

    param("embedding", vocab, d, phase=0.1)
    for l in range(layers):
        for i, (n, shape) in enumerate(dict(norm1=(d,), q=(d, d), k=(d, d), v=(d, d), o=(d, d), norm2=(d,),
                                            w1=(f, d), w2=(d, f), w3=(f, d)).items()):
            param(f"layer{l}.{n}", *shape, phase=1.0 + l + 0.1 * i, base=1.0 if n.startswith("norm") else 0.0)
    param("norm_final", d, phase=5.0, base=1.0)
    param("lm_head", vocab, d, phase=6.0)

    tokens = (torch.arange(batch * t) * 7 % vocab).reshape(batch, t)
    targets = (torch.arange(batch * t) * 5 % vocab).reshape(batch, t)
    x = params["embedding"][tokens]
    mask = torch.tril(torch.ones(t, t, dtype=torch.bool))
    for l in range(layers):
        p = lambda n: params[f"layer{l}.{n}"]
        h = rmsnorm(x, p("norm1"))
        q, k, v = (
            (h @ p(n).T).reshape(batch, t, heads, d // heads).transpose(1, 2) for n in "qkv"
        )
        q, k = rope(q), rope(k)
        s = (q @ k.transpose(-1, -2)) / math.sqrt(d // heads)
        s = torch.where(mask, s, torch.tensor(-math.inf))
        a = torch.softmax(s, dim=-1) @ v
        x = x + a.transpose(1, 2).reshape(batch, t, d) @ p("o").T
        h = rmsnorm(x, p("norm2"))
        x = x + (F.silu(h @ p("w1").T) * (h @ p("w3").T)) @ p("w2").T
    logits = rmsnorm(x, params["norm_final"]) @ params["lm_head"].T
    loss = F.cross_entropy(logits.reshape(-1, vocab), targets.reshape(-1))
    loss.backward()
    g.add("tokens", tokens)
    g.add("targets", targets)
    for name, value in params.items():
        g.add("param." + name, value)
    g.add("logits", logits)
    g.add("loss", loss.reshape(1))
    for name, value in params.items():
        g.add("grad." + name, value.grad)

    # AdamW as the course's staff wrote it in 2025: decay after the step, with the plain lr
    lr, b1, b2, eps, wd = 1e-3, 0.9, 0.999, 1e-8, 0.01
    for name, value in params.items():
        m = (1 - b1) * value.grad
        v = (1 - b2) * value.grad**2
        alpha = lr * math.sqrt(1 - b2) / (1 - b1)
        new = value.detach() - alpha * m / (v.sqrt() + eps)
        new = new - lr * wd * new
        g.add("after_step." + name, new)
    g.write()


if __name__ == "__main__":
    out = sys.argv[1]
    os.makedirs(out, exist_ok=True)
    for make in (conv, norm_pool_loss, optimizers, transformer):
        make(out)
