#!/usr/bin/env python3
"""Training steps of a small transformer in PyTorch: prints milliseconds a step.

torch_step.py [--profile | --graph | --probe]
--profile: under PyTorch's own profiler; --graph: one captured step, replayed;
--probe: say only whether it could run. Ends with 77 without PyTorch or without a GPU.
"""
import sys
import time

try:
    import torch
except ImportError:
    sys.exit(77)
if not torch.cuda.is_available():
    sys.exit(77)
if "--probe" in sys.argv:
    sys.exit(0)

WARMUP, STEPS = 20, 200
torch.manual_seed(0)
layer = torch.nn.TransformerEncoderLayer(768, 12, 3072, dropout=0.0, batch_first=True)
model = torch.nn.TransformerEncoder(layer, 12).cuda()
optimizer = torch.optim.AdamW(model.parameters(), fused=False, capturable="--graph" in sys.argv)
data = torch.randn(4, 512, 768, device="cuda")


def step():
    optimizer.zero_grad(set_to_none=True)
    model(data).square().mean().backward()
    optimizer.step()


def captured():
    """A function that replays one captured step."""
    graph = torch.cuda.CUDAGraph()
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    with torch.cuda.graph(graph):
        step()
    return graph.replay


def run(step):
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(STEPS):
        step()
    torch.cuda.synchronize()
    return (time.perf_counter() - begin) / STEPS * 1e3


for _ in range(WARMUP):
    step()
if "--graph" in sys.argv:
    ms = run(captured())
elif "--profile" in sys.argv:
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]):
        ms = run(step)
else:
    ms = run(step)
print(f"{ms:.3f}")
