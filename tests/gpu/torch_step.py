#!/usr/bin/env python3
"""Training steps of a small transformer in PyTorch: prints milliseconds a step.

torch_step.py [--profile | --graph | [--compiled] --names FILE | --probe]
--profile: under PyTorch's own profiler; --graph: one captured step, replayed;
--names: the kernels of five steps by that profiler into FILE, a line "COUNT NAME" each; with - the
same steps without it; --compiled: each layer by torch.compile;
--probe: say only whether it could run. Without any of these, the host's milliseconds a step, too. Ends with 77 without PyTorch or without a GPU.
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

PROFILED = "--profile" in sys.argv or "--names" in sys.argv
WARMUP, STEPS = 5, 20 if "--profile" in sys.argv else 5 if "--names" in sys.argv else 30
torch.manual_seed(0)


class Layer(torch.nn.TransformerEncoderLayer):
    """As a program's own: a layer of PyTorch's the compiler leaves as it is."""
    def forward(self, *args, **options):
        return super().forward(*args, **options)


layer = Layer(768, 12, 3072, dropout=0.0, batch_first=True)
model = torch.nn.TransformerEncoder(layer, 12).cuda()
if "--compiled" in sys.argv:
    for one in model.layers:
        one.compile(dynamic=False)
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


def host_ms():
    """What the host takes for a step while the GPU has nothing to do: the lower quartile."""
    took = []
    for _ in range(STEPS):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        step()
        took.append(time.perf_counter() - begin)
    return sorted(took)[STEPS // 4] * 1e3


def write_names(path, profile):
    counts = {}
    # of a range of the program's the profiler has a row of the device, too: the time of its kernels
    others = {event.name for event in profile.events() if event.device_type.name != "CUDA"}
    for event in profile.events():
        if event.device_type.name == "CUDA" and event.name not in others and not event.name.startswith(("Memcpy", "Memset")):
            counts[event.name] = counts.get(event.name, 0) + 1
    with open(path, "w") as out:
        out.writelines("%d %s\n" % (n, name) for name, n in sorted(counts.items()))


# what comes before, as the model's first values, the profiler does not count: by name it is little
if "--names" not in sys.argv:
    for _ in range(WARMUP):
        step()
if "--graph" in sys.argv:
    ms = run(captured())
elif PROFILED and sys.argv[-1] != "-":
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
        ms = run(step)
    if "--names" in sys.argv:
        write_names(sys.argv[-1], profiler)
else:
    ms = run(step)
print(f"{ms:.3f}", *[] if sys.argv[1:] else [f"{host_ms():.3f}"])
