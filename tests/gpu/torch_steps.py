#!/usr/bin/env python3
"""The transformer steps of gpu_bench in PyTorch, eager and compiled, as lines of JSON.

The model is that of kernels/models/transformer.c, written as its graph is: pre-norm blocks of
causal attention with rotary embedding and SwiGLU, an untied head, no biases; AdamW on all.
"""
import contextlib
import json
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
WARMUP, STEPS = 5, 10


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
    def __init__(self, width, ffn, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = Norm(width), Norm(width)
        self.q, self.k, self.v, self.o = (nn.Linear(width, width, bias=False) for _ in range(4))
        self.w1, self.w3 = (nn.Linear(width, ffn, bias=False) for _ in range(2))
        self.w2 = nn.Linear(ffn, width, bias=False)

    def forward(self, x, cosine, sine, hidden):
        n, t, width = x.shape
        h = self.norm1(x)
        q, k, v = (w(h).view(n, t, self.heads, -1).transpose(1, 2) for w in (self.q, self.k, self.v))
        q, k = rotate(q, cosine, sine), rotate(k, cosine, sine)
        scores = q @ k.transpose(-1, -2) / (width // self.heads) ** 0.5
        shares = torch.softmax(scores.masked_fill(hidden, float("-inf")), -1)
        x = x + self.o((shares.to(v.dtype) @ v).transpose(1, 2).reshape(n, t, width))
        h = self.norm2(x)
        return x + self.w2(F.silu(self.w1(h)) * self.w3(h))


class Transformer(nn.Module):
    def __init__(self, width, ffn, layers, heads, vocab, context):
        super().__init__()
        self.embedding = nn.Embedding(vocab, width)
        self.blocks = nn.ModuleList(Block(width, ffn, heads) for _ in range(layers))
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


def measure(name, context, dtype, compiled):
    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_tf32 = dtype == "tf32"
    vocab = SIZES[name][-1]
    model = Transformer(*SIZES[name], context).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), fused=compiled)
    forward = torch.compile(model) if compiled else model
    tokens = torch.randint(vocab, (4, context + 1), device="cuda")
    low = {"amp-bf16": torch.bfloat16, "amp-fp16": torch.float16}.get(dtype)
    scaler = torch.cuda.amp.GradScaler(enabled=dtype == "amp-fp16")
    times = []
    for i in range(WARMUP + STEPS):
        begin = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", low) if low else contextlib.nullcontext():
            logits = forward(tokens[:, :-1])
            loss = F.cross_entropy(logits.flatten(0, 1).float(), tokens[:, 1:].flatten())
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        torch.cuda.synchronize()
        if i >= WARMUP:
            times.append(time.perf_counter() - begin)
    return sorted(times)[STEPS // 2] * 1e3


def main():
    failed = 0
    for name in SIZES:
        for context in (512, 1024):
            for dtype in ("fp32", "tf32", "amp-bf16", "amp-fp16"):
                for compiled in (False, True):
                    how = "torch compile" if compiled else "torch eager"
                    try:
                        ms = measure(name, context, dtype, compiled)
                    except RuntimeError as error:  # out of memory, no compiler
                        print("%s %d %s %s: %s" % (name, context, dtype, how, error),
                              file=sys.stderr)
                        failed += 1
                        continue
                    print(json.dumps({"kind": "step", "name": name, "dtype": dtype, "fusion": how,
                                      "batch": 4, "context": context, "ms": round(ms, 3)}),
                          flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
