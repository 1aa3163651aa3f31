"""Programs as people write them: steps.py NAME [PROFILE.json]. Each counts itself what a report must find, and prints
`steps N apart M`: measured steps, and those that hold something else. With a second argument PyTorch's profiler
records it, too."""
import sys

import torch
from torch import nn

torch.manual_seed(0)
torch.set_num_threads(1)


def mlp(*sizes):
    layers = []
    for a, b in zip(sizes, sizes[1:]):
        layers += [nn.Linear(a, b), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def step_with_closure(model, optimizer, inputs):
    def evaluate():
        optimizer.zero_grad()
        loss = model(inputs).pow(2).mean()
        loss.backward()
        return loss
    for _ in range(6):
        optimizer.step(evaluate)
    return 5, 0


def closure():
    """As Lightning and LBFGS call optimizers. The first iteration is none."""
    model = mlp(512, 1024, 512)
    return step_with_closure(model, torch.optim.SGD(model.parameters(), 0.01), torch.ones(128, 512))


def lbfgs():
    """Calls its closure several times in a step."""
    model = mlp(32, 64, 32)
    return step_with_closure(model, torch.optim.LBFGS(model.parameters(), lr=0.1, max_iter=3), torch.ones(16, 32))


def evaluation():
    model = mlp(64, 128, 10)
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    evaluations = 0
    for i in range(14):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(torch.ones(8, 64)), torch.zeros(8, dtype=torch.long)).backward()
        optimizer.step()
        if i in (4, 9):
            evaluations += 1
            with torch.no_grad():
                for _ in range(40):
                    model(torch.ones(256, 64)).argmax(1)
    return 13 - evaluations, evaluations


def gan():
    """Two optimizers of one class, of models that are alike."""
    g, d = nn.Linear(16, 16), nn.Linear(16, 16)
    of_g, of_d = torch.optim.Adam(g.parameters()), torch.optim.Adam(d.parameters())
    for _ in range(9):
        fake = g(torch.ones(4, 16))
        for optimizer, seen in ((of_d, fake.detach()), (of_g, fake)):
            optimizer.zero_grad()
            d(seen).mean().backward()
            optimizer.step()
    return 8, 0


def critics():
    """Five steps of the critic, with a gradient of a gradient, to one of the generator."""
    g, d = mlp(8, 32, 16), mlp(16, 32, 1)
    of_g, of_d = torch.optim.Adam(g.parameters()), torch.optim.Adam(d.parameters())
    for _ in range(6):
        for _ in range(5):
            with torch.no_grad():
                fake = g(torch.ones(16, 8))
            mix = fake.clone().requires_grad_()
            slope, = torch.autograd.grad(d(mix).sum(), mix, create_graph=True)
            of_d.zero_grad()
            (d(fake).mean() + (slope.norm(dim=1) - 1).pow(2).mean()).backward()
            of_d.step()
        of_g.zero_grad()
        (-d(g(torch.ones(16, 8))).mean()).backward()
        of_g.step()
    return 5, 0


def samples():
    """A GAN that draws images every tenth step."""
    g, d = mlp(16, 32, 16), mlp(16, 32, 1)
    of_g, of_d = torch.optim.Adam(g.parameters()), torch.optim.Adam(d.parameters())
    for i in range(61):
        fake = g(torch.ones(4, 16))
        for optimizer, seen in ((of_d, fake.detach()), (of_g, fake)):
            optimizer.zero_grad()
            d(seen).mean().backward()
            optimizer.step()
        if i % 10 == 9:
            with torch.no_grad():
                for _ in range(40):
                    g(torch.ones(1024, 16)).mul(127).clamp(0, 255).to(torch.uint8)
    return 60 - 6, 6


def critics_sample():
    """Each critic's step asks the generator without a gradient; an image is one call more, of many times the work."""
    g, d = mlp(8, 32, 16), mlp(16, 32, 1)
    of_g, of_d = torch.optim.Adam(g.parameters()), torch.optim.Adam(d.parameters())
    for i in range(41):
        for _ in range(5):
            with torch.no_grad():
                fake = g(torch.ones(16, 8))
            of_d.zero_grad()
            (d(fake).mean() - d(torch.ones(16, 16)).mean()).backward()
            of_d.step()
        of_g.zero_grad()
        (-d(g(torch.ones(16, 8))).mean()).backward()
        of_g.step()
        if i % 10 == 9:
            with torch.no_grad():
                g(torch.ones(200000, 8))
    return 40 - 4, 4


def two_threads():
    """Each trains a model of its own. The first iteration of each is none."""
    from threading import Barrier, Thread
    both = Barrier(2)

    def train(width, n):
        model = mlp(width, 64, 4)
        optimizer = torch.optim.AdamW(model.parameters())
        for i in range(n):
            optimizer.zero_grad()
            model(torch.ones(16, width)).mean().backward()
            optimizer.step()
            if not i:
                both.wait()  # with one thread steps that repeat others are left out
    threads = [Thread(target=train, args=job) for job in ((32, 20), (256, 30))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return 19 + 29, 0


def accumulation():
    model = mlp(16, 32, 4)
    optimizer = torch.optim.AdamW(model.parameters())
    for i in range(12):
        model(torch.ones(4, 16)).mean().backward()
        if i % 3 == 2:
            optimizer.step()
            optimizer.zero_grad()
    return 3, 0


def distillation():
    """The teacher is asked in each step, and in an evaluation more often. The averaged weights are no evaluation."""
    teacher, student = mlp(32, 256, 10), mlp(32, 32, 10)
    average = [p.detach().clone() for p in student.parameters()]
    optimizer = torch.optim.AdamW(student.parameters())
    evaluations = 0
    for i in range(20):
        with torch.no_grad():
            wanted = teacher(torch.ones(32, 32)).softmax(1)
        optimizer.zero_grad()
        nn.functional.kl_div(student(torch.ones(32, 32)).log_softmax(1), wanted, reduction="batchmean").backward()
        optimizer.step()
        with torch.no_grad():
            for a, p in zip(average, student.parameters()):
                a.lerp_(p, 0.01)
        if i % 7 == 6:
            evaluations += 1
            with torch.no_grad():
                for _ in range(10):
                    student(torch.ones(128, 32)), teacher(torch.ones(128, 32))
    return 19 - evaluations, evaluations


def rollouts():
    """Acts without a gradient, then several epochs over what it saw."""
    policy = mlp(8, 64, 4)
    optimizer = torch.optim.Adam(policy.parameters())
    steps, rolls = 0, 0
    for _ in range(4):
        with torch.no_grad():
            seen = torch.cat([policy(torch.ones(1, 8)).new_ones(1, 8) for _ in range(64)])
        rolls += 1
        for _ in range(3):
            for batch in seen.split(16):
                optimizer.zero_grad()
                policy(batch).logsumexp(1).mean().backward()
                optimizer.step()
                steps += 1
    return steps - rolls, rolls - 1  # the first roll is in the first iteration, which is none


def by_hand():
    """Two encoders, and no optimizer of PyTorch. The last step, which repeats others, ends with the program instead of a
    call: what it ran behind its last call is not known."""
    a, b = mlp(32, 64, 16), nn.Linear(8, 16)
    evaluations = 0
    for i in range(10):
        loss = (a(torch.ones(16, 32)) @ b(torch.ones(16, 8)).T).logsumexp(1).mean()
        loss.backward()
        with torch.no_grad():
            for p in (*a.parameters(), *b.parameters()):
                p -= 0.01 * p.grad
                p.grad = None
        if i in (3, 7):
            evaluations += 1
            with torch.no_grad():
                for _ in range(20):
                    a(torch.ones(64, 32)), b(torch.ones(64, 8))
    return 9 - evaluations, evaluations + 1


def inference():
    model = mlp(64, 64).eval()
    with torch.inference_mode():
        for _ in range(20):
            model(torch.ones(8, 64))
    return 20, 0


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.body = nn.Embedding(50, 32), mlp(32, 128, 50)

    def forward(self, tokens):
        return self.body(self.embed(tokens))


def generation():
    """A prompt, then a token a call, as with a cache of keys and values."""
    model = Decoder().eval()
    with torch.inference_mode():
        for _ in range(3):
            token = model(torch.zeros(1, 40, dtype=torch.long))[:, -1:].argmax(2)
            for _ in range(9):
                token = model(token).argmax(2)
    return 27, 3


def main():
    program = globals()[sys.argv[1]]
    if len(sys.argv) > 2:
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], record_shapes=True) as profile:
            steps, apart = program()
        profile.export_chrome_trace(sys.argv[2])
    else:
        steps, apart = program()
    print(f"steps {steps} apart {apart}")


main()
