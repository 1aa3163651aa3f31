#!/usr/bin/env python3
"""The steps of gpu_bench in PyTorch, eager or compiled, in turn with it: JSON lines.

The model is that of kernels/models/model.c, written as its graph is: pre-norm blocks of
causal attention with rotary embedding and SwiGLU, an untied head, no biases; AdamW on all.
"""
import contextlib
import json
import os
import subprocess
import sys
import time

import torch
from torch import nn
from torch.nn import functional as F

SIZES = {
    "transformer-small": (768, 3072, 12, 12, 10000),
    "transformer-medium": (1024, 4096, 24, 16, 10000),
    "transformer-large": (1280, 5120, 36, 20, 10000),
}
WARMUP, STEPS, ROUNDS = 5, 20, 3


class Norm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        wide = x.float()
        scaled = wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + 1e-5)
        return (self.weight * scaled).to(x.dtype)


def rotate(x, cosine, sine):
    even, odd = x[..., ::2], x[..., 1::2]
    return torch.stack((even * cosine - odd * sine, even * sine + odd * cosine), -1).flatten(-2)


class Block(nn.Module):
    def __init__(self, width, ffn, heads, fused):
        super().__init__()
        self.heads, self.fused = heads, fused
        self.norm1, self.norm2 = Norm(width), Norm(width)
        self.q, self.k, self.v, self.o = (nn.Linear(width, width, bias=False) for _ in range(4))
        self.w1, self.w3 = (nn.Linear(width, ffn, bias=False) for _ in range(2))
        self.w2 = nn.Linear(ffn, width, bias=False)

    def forward(self, x, cosine, sine, hidden):
        n, t, width = x.shape
        h = self.norm1(x)
        q, k, v = (w(h).view(n, t, self.heads, -1).transpose(1, 2) for w in (self.q, self.k, self.v))
        q, k = rotate(q, cosine, sine), rotate(k, cosine, sine)
        if self.fused:
            y = F.scaled_dot_product_attention(q.to(v.dtype), k.to(v.dtype), v, is_causal=True)
        else:
            scores = q @ k.transpose(-1, -2) / (width // self.heads) ** 0.5
            shares = torch.softmax(scores.masked_fill(hidden, float("-inf")), -1)
            y = shares.to(v.dtype) @ v
        x = x + self.o(y.transpose(1, 2).reshape(n, t, width))
        h = self.norm2(x)
        return x + self.w2(F.silu(self.w1(h)) * self.w3(h))


class Transformer(nn.Module):
    def __init__(self, width, ffn, layers, heads, vocab, context, fused):
        super().__init__()
        self.embedding = nn.Embedding(vocab, width)
        self.blocks = nn.ModuleList(Block(width, ffn, heads, fused) for _ in range(layers))
        self.norm, self.head = Norm(width), nn.Linear(width, vocab, bias=False)
        pairs = width // heads // 2
        angle = torch.arange(context)[:, None] * 10000.0 ** (-torch.arange(pairs) / pairs)
        self.register_buffer("cosine", angle.cos())
        self.register_buffer("sine", angle.sin())
        self.register_buffer("hidden", torch.ones(context, context).triu(1).bool())

    def forward(self, tokens):
        x = self.embedding(tokens)
        for block in self.blocks:
            x = block(x, self.cosine, self.sine, self.hidden)
        return self.head(self.norm(x))


class Bottleneck(nn.Module):
    def __init__(self, width, channels, stride):
        super().__init__()
        out = 4 * channels
        self.layers = nn.Sequential(
            nn.Conv2d(width, channels, 1, bias=False), nn.BatchNorm2d(channels), nn.ReLU(inplace=True),
            nn.Conv2d(channels, channels, 3, stride, 1, bias=False), nn.BatchNorm2d(channels), nn.ReLU(inplace=True),
            nn.Conv2d(channels, out, 1, bias=False), nn.BatchNorm2d(out))
        self.beside = nn.Identity() if width == out and stride == 1 else nn.Sequential(
            nn.Conv2d(width, out, 1, stride, bias=False), nn.BatchNorm2d(out))

    def forward(self, x):
        return torch.relu(self.layers(x) + self.beside(x))


def resnet50():
    """As kernels/models/model.c has it, for 224 x 224 and 1,000 classes."""
    layers, width = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True),
                     nn.MaxPool2d(3, 2, 1)], 64
    for stage, blocks in enumerate((3, 4, 6, 3)):
        for block in range(blocks):
            channels = 64 << stage
            layers.append(Bottleneck(width, channels, 2 if stage and not block else 1))
            width = 4 * channels
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, 1000))


def compile_blocks(model):
    """Block by block: 36 equal layers are one program, which takes seconds and not minutes."""
    # else what was compiled for the session before counts against this one's limit
    torch._dynamo.reset()
    for block in model.blocks:
        block.compile(dynamic=False)
    return model


def session(name, context, dtype, compiled, batch, fused):
    """A function that runs one step; compiled: each block as a program for this very shape."""
    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = dtype == "tf32"
    if name == "resnet50":  # as people train it: the layout that the tensor cores like
        model = resnet50().cuda().to(memory_format=torch.channels_last)
        inputs = torch.randn(batch, 3, 224, 224, device="cuda").to(memory_format=torch.channels_last)
        targets = torch.randint(1000, (batch,), device="cuda")
    else:
        model = Transformer(*SIZES[name], context, fused).cuda()
        tokens = torch.randint(SIZES[name][-1], (batch, context + 1), device="cuda")
        inputs, targets = tokens[:, :-1], tokens[:, 1:].flatten()
    optimizer = torch.optim.AdamW(model.parameters(), fused=compiled)
    forward = compile_blocks(model) if compiled else model
    low = {"amp-bf16": torch.bfloat16, "amp-fp16": torch.float16}.get(dtype)
    scaler = torch.amp.GradScaler("cuda", enabled=dtype == "amp-fp16")

    def step():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", low) if low else contextlib.nullcontext():
            logits = forward(inputs)
            loss = F.cross_entropy(logits.flatten(0, -2).float(), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()

    for _ in range(WARMUP):
        step()
    torch.cuda.synchronize()
    return step


def run_round(step):
    """The median time of a step in milliseconds."""
    times = []
    for _ in range(STEPS):
        begin = time.perf_counter()
        step()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - begin)
    return sorted(times)[STEPS // 2] * 1e3


def rival(command, name, context, dtype, batch, fused):
    """gpu_bench with the same session, which runs a round for each line that it is sent."""
    options = ["--quick"] if os.environ.get("QUICK") == "1" else []
    options += (["--fused-attention"] if fused else []) + (["--nhwc"] if name == "resnet50" else [])
    folders = os.environ.get("WS_LIBRARY_PATH", "")
    environment = dict(os.environ, LD_LIBRARY_PATH=folders + ":" + os.environ.get("LD_LIBRARY_PATH", ""))
    return subprocess.Popen([command, *options, "steps", name, dtype, "full", str(batch), str(context), "0",
                             str(STEPS)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)


def rival_round(process):
    process.stdin.write("go\n")
    process.stdin.flush()
    for line in process.stdout:
        if '"step"' in line:
            return json.loads(line)
    raise RuntimeError("the rival ended")


def compare(command, name, context, dtype, batch, fused, compiled):
    """The two take turns, so that a clock that falls falls for both. Each round is printed at once: who
    is ended by a limit of time has told what was known."""
    theirs = "torch " + ("compile" if compiled else "eager") + (", fused attention" if fused else "")
    ours = "ours" + (", fused attention" if fused else "")
    layout = ", nhwc" if name == "resnet50" else ""
    process = rival(command, name, context, dtype, batch, fused) if command else None
    step = session(name, context, dtype, compiled, batch, fused)
    times = {}
    for turn in range(ROUNDS):
        rows = [(theirs, {"ms": run_round(step)})]
        if process:
            rows.append((ours, rival_round(process)))
        for how, row in rows:
            times.setdefault(how, []).append(row["ms"])
            print(json.dumps({"kind": "step", "name": name, "dtype": dtype, "fusion": how + layout,
                              "batch": batch, "context": context, "round": turn,
                              "ms": round(row["ms"], 3), "mfu": row.get("mfu")}), flush=True)
    if process:
        process.stdin.close()
        process.wait()
        share = min(times[ours]) / min(times[theirs])
        print(json.dumps({"kind": "verdict", "name": "%s %s batch %d context %d: ours beside %s%s"
                          % (name, dtype, batch, context, theirs, layout), "figure": round(share, 3),
                          "unit": "of its time", "goal": "at most 1.1",
                          "verdict": "pass" if share <= 1.1 else "slow"}), flush=True)


def main():
    """torch_steps.py [GPU_BENCH] MODEL:DTYPE:BATCH:CONTEXT[:fused][:compiled]...: rounds in turn for each."""
    arguments = sys.argv[1:]
    command = arguments.pop(0) if arguments and ":" not in arguments[0] else None
    failed = 0
    for wanted in arguments:
        name, dtype, batch, context, *how = wanted.split(":")
        try:
            compare(command, name, int(context), dtype, int(batch), "fused" in how, "compiled" in how)
        except Exception as error:  # out of memory, no compiler on this machine, a rival that ended
            print("%s: %s" % (wanted, error), file=sys.stderr)
            failed += 1
        torch.cuda.empty_cache()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
