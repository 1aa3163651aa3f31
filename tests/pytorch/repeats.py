"""Programs whose steps repeat themselves, or do not: repeats.py NAME. The same in each run."""
import sys

import torch
from torch import nn

torch.manual_seed(0)
torch.set_num_threads(1)
random = torch.Generator().manual_seed(1)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Sequential(nn.Linear(16, 16), nn.LayerNorm(16), nn.ReLU()) for _ in range(4))
        self.head = nn.Linear(16, 4)

    def forward(self, x, skipped=()):
        for i, layer in enumerate(self.layers):
            if i not in skipped:
                x = layer(x)
        return self.head(x)


def train(steps, inputs=lambda i: torch.ones(8, 16), skipped=lambda i: (), between=lambda i, model: None):
    """Adam's numbers differ in each step; its foreach runs as many operations."""
    model = Net()
    optimizer = torch.optim.AdamW(model.parameters(), foreach=False)
    for i in range(steps):
        optimizer.zero_grad()
        model(inputs(i), skipped(i)).logsumexp(1).mean().backward()
        optimizer.step()
        between(i, model)


def alike():
    train(60)


def layers():
    """Skips a layer once in ten steps, as stochastic depth does, and another one than before."""
    def skipped(i):
        return (i // 10 % 4,) if i % 10 == 7 else ()
    train(60, skipped=skipped)


def always_other():
    """Skips by chance, so hardly any step is as the one before."""
    train(40, skipped=lambda i: [k for k in range(4) if torch.rand(1, generator=random) < 0.5])


def growing():
    train(40, inputs=lambda i: torch.ones(8 + i, 16))


def last_batch():
    train(60, inputs=lambda i: torch.ones(3 if i % 20 == 19 else 8, 16))


def evaluation():
    def evaluate(i, model):
        if i % 15 == 14:
            model.eval()
            with torch.no_grad():
                for _ in range(5):
                    model(torch.ones(64, 16)).argmax(1)
            model.train()
    train(60, between=evaluate)


def logged():
    """Prints a number every tenth step, as most programs print their loss."""
    def log(i, model):
        if i % 10 == 0:
            print(model.head.bias.detach().mean().item())
    train(121, between=log)


def unseen():
    """Without gradients, and in no module: nothing shows that the operations are others from the 20th call on."""
    model = Net().eval()
    with torch.no_grad():
        for i in range(60):
            model(torch.ones(8, 16))
            y = torch.ones(512, 512)
            y.sin() if i < 20 else y.cos()


def inference():
    model = Net().eval()
    with torch.inference_mode():
        for _ in range(60):
            model(torch.ones(8, 16)).softmax(1)


def threads():
    """Two that train: their steps are nobody's."""
    from threading import Barrier, Thread
    turn = Barrier(2)  # each makes a step before the other makes its next, on a busy machine, too
    both = [Thread(target=train, args=(20,), kwargs={"between": lambda i, model: turn.wait()}) for _ in range(2)]
    for thread in both:
        thread.start()
    for thread in both:
        thread.join()


def other_thread():
    """Trains until steps record nothing; then another thread infers."""
    from threading import Thread
    model = Net()

    def infer():
        with torch.no_grad():
            for _ in range(30):
                model(torch.ones(8, 16)).cos()
    train(12)
    thread = Thread(target=infer)
    thread.start()
    thread.join()


def forked():
    """A child that is forked while steps record nothing."""
    import os
    train(12)
    if not os.fork():
        train(5)
        os._exit(0)
    os.wait()
    train(3)


def hooks():
    """PyTorch calls modules without hooks in steps that are not recorded; what fails there does so as without a recorder."""
    import copy
    import pickle
    from torch.nn.modules import module
    hooked, failed = [], []

    class Watched(Net):
        def forward(self, x, skipped=()):
            hooked.append(bool(module._global_forward_hooks or module._global_forward_pre_hooks))
            if len(x) == 3:
                raise ValueError("three")
            return super().forward(x, skipped)
    model = Watched()
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    for i in range(60):
        optimizer.zero_grad()
        model(torch.ones(8, 16)).mean().backward()
        optimizer.step()
        if i in (20, 40):
            try:
                model(torch.ones(3, 16))
            except ValueError as error:
                failed.append(str(error) + str(error.__context__))
            model(torch.ones(8, 16))
            assert not model._forward_hooks and not model._forward_hooks_always_called
            pickle.dumps(copy.deepcopy(model).state_dict())
    assert failed == ["threeNone"] * 2, failed
    assert not all(hooked[-20:]) and hooked[0], hooked
    print("without hooks", hooked.count(False))


def ended():
    """The thread that trains ends in its last step, and another one has ranges and operations."""
    import os
    import threading
    import nvtx
    thread = threading.Thread(target=train, args=(int(sys.argv[2]),))
    thread.start()
    number = str(thread.native_id)
    thread.join()
    while number in os.listdir("/proc/self/task"):  # Python is done with it before the system is
        pass
    for _ in range(50):
        with nvtx.annotate("after"):
            torch.ones(4).cos()


globals()[sys.argv[1]]()
