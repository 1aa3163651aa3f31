"""Programs whose operations PyTorch's own profiler and the recorder both see: FOLDER for the profiles,
and NAMES. Each runs three steps; the last of them lies in its profile and in a range `oracle NAME`. One more
is counted by PyTorch's FLOP counter, into NAME.flops."""
import json
import os
import sys
import warnings

import torch
from torch import nn
import torch.nn.functional as F
try:
    from torch.utils.flop_counter import FlopCounterMode
except ImportError:  # PyTorch before 2.1
    FlopCounterMode = None

warnings.filterwarnings("ignore")
torch.manual_seed(0)
if "WS_TORCH_DEVICE" in os.environ:
    torch.set_default_device(os.environ["WS_TORCH_DEVICE"])


def trained(model, batch, loss_of, optimizer=torch.optim.SGD, **arguments):
    o = optimizer(model.parameters(), lr=0.01, **arguments)

    def step():
        o.zero_grad()
        loss_of(model, batch).backward()
        o.step()
    return step


def cnn():
    m = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
                      nn.Conv2d(8, 16, 3, stride=2, bias=False), nn.GroupNorm(4, 16), nn.SiLU(),
                      nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.1), nn.Linear(16, 10))
    b = torch.randn(4, 3, 16, 16).contiguous(memory_format=torch.channels_last), torch.arange(4)
    return trained(m, b, lambda m, b: F.cross_entropy(m(b[0]), b[1]), momentum=0.9)


class Block(nn.Module):
    def __init__(self, d, heads, fused):
        super().__init__()
        self.heads, self.fused = heads, fused
        self.qkv, self.out = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.norm, self.mlp = nn.LayerNorm(d), nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))

    def forward(self, x):
        b, n, d = x.shape
        q, k, v = (t.view(b, n, self.heads, -1).transpose(1, 2) for t in self.qkv(self.norm(x)).chunk(3, -1))
        if self.fused:
            a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            s = q @ k.transpose(-1, -2) / (d // self.heads) ** 0.5
            a = s.masked_fill(torch.ones(n, n).triu(1).bool(), float("-inf")).softmax(-1) @ v
        x = x + self.out(a.transpose(1, 2).reshape(b, n, d))
        return x + self.mlp(x)


def transformer(fused=True):
    m = nn.Sequential(nn.Embedding(50, 32), Block(32, 4, fused), Block(32, 4, fused), nn.Linear(32, 50))
    b = torch.randint(0, 50, (2, 12))
    return trained(m, b, lambda m, b: F.cross_entropy(m(b).flatten(0, 1), b.flatten()), torch.optim.AdamW)


def eager_transformer():
    return transformer(False)


def lstm():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm, self.head = nn.LSTM(8, 16, 2, batch_first=True, bidirectional=True), nn.Linear(32, 4)

        def forward(self, x):
            return self.head(self.lstm(x)[0][:, -1])
    return trained(Model(), torch.randn(3, 5, 8), lambda m, b: m(b).pow(2).mean(), torch.optim.Adam)


def embedding_bag():
    m = nn.EmbeddingBag(40, 8, mode="sum")
    b = torch.randint(0, 40, (11,)), torch.tensor([0, 4, 4, 9])
    return trained(m, b, lambda m, b: m(*b).sum(), torch.optim.Adagrad)


def sparse():
    e = nn.Embedding(30, 6, sparse=True)
    a = torch.eye(6).to_sparse()
    return trained(e, torch.tensor([1, 1, 5]), lambda m, b: torch.sparse.mm(a, m(b).t()).sum(), torch.optim.SparseAdam)


def complex_numbers():
    w = torch.randn(5, 5, dtype=torch.cfloat, requires_grad=True)

    def step():
        y = torch.fft.fft(w @ w.conj().T) * (1 + 2j)
        torch.view_as_real(y).square().sum().backward()
        return (w.real + w.imag).to(torch.complex128).abs()
    return step


def quantised():
    x = torch.randn(4, 6)

    def step():
        q = torch.quantize_per_tensor(x, 0.1, 3, torch.quint8)
        c = torch.quantize_per_channel(x, torch.full((4,), 0.1), torch.zeros(4, dtype=torch.long), 0, torch.qint8)
        return q.dequantize() + c.dequantize() + q.int_repr().to(torch.float64).to(torch.bfloat16).half().float()
    return step


def custom_function():
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x ** 3

        @staticmethod
        def backward(ctx, g):
            return 3 * ctx.saved_tensors[0] ** 2 * g
    w = torch.randn(3, 4, requires_grad=True)
    return lambda: (Cube.apply(w) * torch.tensor(2.5)).sum().backward()


def corners():
    """Empty and 0-d tensors, many dimensions, views, undefined inputs, lists, names, wrapped numbers."""
    def step():
        x = torch.arange(24.).view(1, 2, 1, 3, 2, 2)
        torch.cat([x, x.flip(0)]), torch.empty(0, 3) + 1, torch.tensor(3) * 2.5, x[..., 0], x.expand(4, 2, 1, 3, 2, 2)
        torch._foreach_add([x, x[0], torch.tensor(1.)], 2), torch.stack([x] * 40), torch.where(x > 3, x, -1e30)
        x.sum((0, 1)), x.new_full((2, 2), float("nan")), x.reshape(-1).unfold(0, 3, 2), torch.zeros([1] * 31)
        torch.linspace(0, 1, 5, dtype=torch.float64), x.to(torch.int8).to(torch.int16), x.view(-1)[torch.tensor([0, 2])]
        F.conv1d(torch.ones(1, 1, 4), torch.ones(1, 1, 2), None), torch.einsum("ij,jk", x.view(4, 6), x.view(6, 4))
        torch.func.vmap(torch.dot)(x.view(4, 6), x.view(4, 6))
        with torch._C._profiler._RecordFunctionFast("triton_like", [x, 3], {"kernel_file": "a.py"}):  # as Inductor does
            pass
    return step


def compiled():
    m = torch.compile(nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 4)))
    return trained(m, torch.randn(5, 8), lambda m, b: m(b).square().mean())


def data_loader():
    data = torch.utils.data.TensorDataset(torch.randn(64, 5), torch.randn(64, 2))
    m = nn.Linear(5, 2)
    o = torch.optim.SGD(m.parameters(), lr=0.01)

    def step():
        for x, y in torch.utils.data.DataLoader(data, batch_size=16, num_workers=4):
            o.zero_grad()
            F.mse_loss(m(x), y).backward()
            o.step()
    return step


def lines():
    """Equal operations on many lines: in a row, in branches by data, in loops, closures, generators and decorated ones."""
    m = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4))
    o = torch.optim.LBFGS(m.parameters(), max_iter=2)
    turn = [0]

    @torch.no_grad()
    def decorated(x):
        return torch.add(x, 1)

    def closure():
        o.zero_grad()
        loss = m(torch.ones(2, 4)).square().sum()
        loss.backward()
        return loss

    def step():
        x = torch.ones(3)
        turn[0] += 1
        x = torch.add(x, 1)
        x = torch.add(x, 1)
        x = torch.add(x, 1)
        x = torch.add(x, 1)
        x = torch.add(x, 1)
        x = torch.add(x, 1)
        x = torch.add(x, 1)
        x = torch.add(x, 1)
        x = torch.add(x, 1)
        x = torch.add(x, 1)
        x = torch.add(x, 1)
        x = torch.add(x, 1)
        if turn[0] % 2:
            x = torch.mul(x, 2)
        else:
            x = torch.mul(x, 2)
        for _ in range(20):
            x = torch.sub(x, 1)
            x = torch.sub(
                torch.add(x, 1), 1)
        x = sum(torch.neg(v) for v in [x, x])
        x = (lambda v: torch.neg(v))(decorated(x))
        o.step(closure)
        return x
    return step


def threads():
    import threading
    m = nn.Linear(6, 6)

    def one():
        with torch.autograd.profiler.record_function("in a thread"):
            m(torch.ones(2, 6)).sum().backward()

    def step():
        t = [threading.Thread(target=one) for _ in range(3)]
        [x.start() for x in t]
        [x.join() for x in t]
        m(torch.ones(3, 6)).sum().backward()
    return step


def ddp():
    import torch.distributed as dist
    dist.init_process_group("gloo")
    m = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 2)))
    return trained(m, torch.randn(4, 8), lambda m, b: m(b).sum())


def counted(step, path):
    if not FlopCounterMode:
        return
    counter = FlopCounterMode(display=False)
    with counter:
        step()
    with open(path, "w") as f:
        json.dump({"aten::" + str(op).removeprefix("aten."): n
                   for op, n in counter.get_flop_counts().get("Global", {}).items()}, f)


def profiled(name, out):
    step = globals()[name]()
    path = f"{out}/{name}{os.environ.get('RANK', '')}"
    stacks = int(os.environ.get("WS_TORCH_STACK", 0))  # so many steps before the one whose lines are compared
    for _ in range(stacks or 2):
        step()
    more = {"with_stack": True, "experimental_config": torch._C._profiler._ExperimentalConfig(verbose=True)}
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], record_shapes=True,
                                **more if stacks else {}) as p:
        with torch.autograd.profiler.record_function("oracle " + name):
            step()
    if stacks:
        import lines
        with open(path + ".lines", "w") as f:
            json.dump(lines.expected(p), f)
        return
    p.export_chrome_trace(path + ".json")
    counted(step, path + ".flops")


for program in sys.argv[2:]:
    profiled(program, sys.argv[1])
