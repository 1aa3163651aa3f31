#!/usr/bin/env python3
"""Training steps of a small transformer in PyTorch: prints milliseconds a step.

torch_step.py [--profile]   --profile: under PyTorch's own profiler
Ends with 77 without PyTorch or without a GPU.
"""
import sys
import time

try:
    import torch
except ImportError:
    sys.exit(77)
if not torch.cuda.is_available():
    sys.exit(77)

WARMUP, STEPS = 20, 100
torch.manual_seed(0)
layer = torch.nn.TransformerEncoderLayer(768, 12, 3072, dropout=0.0, batch_first=True)
model = torch.nn.TransformerEncoder(layer, 12).cuda()
optimizer = torch.optim.AdamW(model.parameters(), fused=False)
data = torch.randn(4, 512, 768, device="cuda")


def step():
    optimizer.zero_grad(set_to_none=True)
    model(data).square().mean().backward()
    optimizer.step()


def run():
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(STEPS):
        step()
    torch.cuda.synchronize()
    return (time.perf_counter() - begin) / STEPS * 1e3


for _ in range(WARMUP):
    step()
if "--profile" in sys.argv:
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]):
        ms = run()
else:
    ms = run()
print(f"{ms:.3f}")
