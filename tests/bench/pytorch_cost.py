"""What --pytorch costs an operation: run under `warpsheet record --pytorch`. PyTorch's callbacks are switched off
and on in turn on this thread, so that both are measured in one run; off beside off is the A/A."""
import sys
import time

import torch

x = torch.ones(4)
torch.set_num_threads(1)


def block(n=100):
    begin = time.perf_counter_ns()
    for _ in range(n):
        torch.add(x, x)
    return (time.perf_counter_ns() - begin) / n


on, off, again = [], [], []
with torch.no_grad():
    for _ in range(int(sys.argv[1]) if len(sys.argv) > 1 else 4000):
        torch.autograd._enable_record_function(True)
        on.append(block())
        torch.autograd._enable_record_function(False)
        off.append(block())
        again.append(block())
low = [sorted(v)[len(v) // 10] for v in (on, off, again)]
print(f"torch.add, 10th percentile of blocks of 100: {low[1]:.0f} ns; recorded {low[0] - low[1]:+.0f} ns, A/A {low[2] - low[1]:+.0f} ns")
