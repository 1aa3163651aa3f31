"""The models and optimizers of Warpsheet's steps, written anew in PyTorch.

A model is a function of its parameters by name and its input; dropout is given, as both who
compares and who counts have their own.
"""
import math

import torch
import torch.nn.functional as F


def no_dropout(name, x):
    raise NotImplementedError(name)


def dense(p, name, x):
    return F.linear(x, p[name + ".weight"], p.get(name + ".bias"))


def conv(p, name, x, stride=1, pad=0):
    return F.conv2d(x, p[name + ".weight"], p.get(name + ".bias"), stride, pad)


def mlp(p, x):
    x = F.relu(dense(p, "fc1", x.flatten(1)))
    return dense(p, "fc3", F.relu(dense(p, "fc2", x)))


def lenet5(p, x):
    x = F.max_pool2d(F.relu(conv(p, "conv1", x, 1, 2)), 2)
    x = F.max_pool2d(F.relu(conv(p, "conv2", x)), 2).flatten(1)
    return dense(p, "fc3", F.relu(dense(p, "fc2", F.relu(dense(p, "fc1", x)))))


def lenet_caffe(p, x):
    x = F.max_pool2d(conv(p, "conv1", x), 2)
    x = F.max_pool2d(conv(p, "conv2", x), 2).flatten(1)
    return dense(p, "ip2", F.relu(dense(p, "ip1", x)))


def toy_mixed(p, x):
    x = F.relu(dense(p, "fc1", x.flatten(1)))
    return dense(p, "fc2", F.layer_norm(x, x.shape[1:], p["ln.weight"], p["ln.bias"]))


def norm(p, name, x):
    return F.batch_norm(x, None, None, p[name + ".weight"], p[name + ".bias"], True)


def resnet(p, x, blocks, bottleneck):
    x = F.max_pool2d(F.relu(norm(p, "bn1", conv(p, "conv1", x, 2, 3))), 3, 2, 1)
    for layer, count in enumerate(blocks, 1):
        for i in range(count):
            name = "layer%d.%d." % (layer, i)
            stride = 2 if layer > 1 and i == 0 else 1
            skip = x
            if name + "downsample.0.weight" in p:
                skip = norm(p, name + "downsample.1", conv(p, name + "downsample.0", x, stride))
            if bottleneck:
                y = F.relu(norm(p, name + "bn1", conv(p, name + "conv1", x)))
                y = F.relu(norm(p, name + "bn2", conv(p, name + "conv2", y, stride, 1)))
                y = norm(p, name + "bn3", conv(p, name + "conv3", y))
            else:
                y = F.relu(norm(p, name + "bn1", conv(p, name + "conv1", x, stride, 1)))
                y = norm(p, name + "bn2", conv(p, name + "conv2", y, 1, 1))
            x = F.relu(y + skip)
    return dense(p, "fc", x.mean((2, 3)))


def conv1d(p, x, residual=False):
    def conv_of(name, x):
        w = p[name + ".weight"]
        return F.conv2d(x, w, p[name + ".bias"], 1, (0, w.shape[3] // 2))

    x = torch.tanh(conv_of("upscale.0", x))
    for i in range(sum(name.endswith("conv.weight") for name in p)):
        y = F.relu(conv_of("blocks.%d.conv" % i, x))
        x = x + y if residual else y
    x = torch.tanh(conv_of("downscale.0", x)).flatten(1)
    return torch.tanh(dense(p, "fc.0", x))


def rms(x, weight):
    return weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5))


def rope(x):
    t, d = x.shape[-2:]
    angle = torch.arange(t)[:, None] * 10000.0 ** (-torch.arange(0, d, 2) / d)
    a, b = x[..., 0::2], x[..., 1::2]
    c, s = torch.cos(angle), torch.sin(angle)
    return torch.stack((a * c - b * s, a * s + b * c), -1).flatten(-2)


def transformer(p, x, heads=4):
    x = p["embedding"][x.long()]
    batch, t, d = x.shape
    mask = torch.ones(t, t, dtype=torch.bool).tril()
    for i in range(sum(name.endswith(".norm1") for name in p)):
        w = lambda name: p["layer%d.%s" % (i, name)]  # noqa: E731
        split = lambda y: y.view(batch, t, heads, -1).transpose(1, 2)  # noqa: E731
        h = rms(x, w("norm1"))
        q, k, v = (split(F.linear(h, w(n))) for n in "qkv")
        s = rope(q) @ rope(k).transpose(-1, -2) / math.sqrt(d // heads)
        y = s.masked_fill(~mask, -math.inf).softmax(-1) @ v
        x = x + F.linear(y.transpose(1, 2).reshape(batch, t, d), w("o"))
        h = rms(x, w("norm2"))
        x = x + F.linear(F.silu(F.linear(h, w("w1"))) * F.linear(h, w("w3")), w("w2"))
    return F.linear(rms(x, p["norm_final"]), p["lm_head"])


def alexnet(p, x, dropout=no_dropout):
    x = F.max_pool2d(F.relu(conv(p, "features.0", x, 4, 2)), 3, 2)
    x = F.max_pool2d(F.relu(conv(p, "features.3", x, 1, 2)), 3, 2)
    for name in ("features.6", "features.8", "features.10"):
        x = F.relu(conv(p, name, x, 1, 1))
    x = F.adaptive_avg_pool2d(F.max_pool2d(x, 3, 2), 6).flatten(1)
    x = F.relu(dense(p, "classifier.1", dropout("classifier.0", x)))
    x = F.relu(dense(p, "classifier.4", dropout("classifier.3", x)))
    return dense(p, "classifier.6", x)


def vgg(p, x, convolutions, dropout=no_dropout):
    """convolutions: how many before each pool."""
    layer = 0
    for count in convolutions:
        for _ in range(count):
            x = F.relu(conv(p, "features.%d" % layer, x, 1, 1))
            layer += 2
        x = F.max_pool2d(x, 2)
        layer += 1
    x = F.adaptive_avg_pool2d(x, 7).flatten(1)
    x = dropout("classifier.2", F.relu(dense(p, "classifier.0", x)))
    x = dropout("classifier.5", F.relu(dense(p, "classifier.3", x)))
    return dense(p, "classifier.6", x)


WITH_DROPOUT = {
    "alexnet": alexnet,
    "vgg11": lambda p, x, drop: vgg(p, x, (1, 1, 2, 2, 2), drop),
    "vgg16": lambda p, x, drop: vgg(p, x, (2, 2, 3, 3, 3), drop),
}
MODELS = {
    "mlp": mlp, "mlp-256": mlp, "lenet5": lenet5, "lenet-caffe": lenet_caffe,
    "toy-mixed": toy_mixed, "conv1d-resnet": conv1d, "transformer-tiny": transformer,
    "conv1d-resnet residual": lambda p, x: conv1d(p, x, True),
    "resnet18": lambda p, x: resnet(p, x, (2, 2, 2, 2), False),
    "resnet50": lambda p, x: resnet(p, x, (3, 4, 6, 3), True),
}


class Cs336(torch.optim.Optimizer):
    """The AdamW of the course: epsilon beside sqrt(v), decay after the step."""

    def __init__(self, params, lr=1e-3, eps=1e-8, weight_decay=0.01):
        super().__init__(params, {})
        self.lr, self.eps, self.decay, self.t, self.of = lr, eps, weight_decay, 0, {}

    @torch.no_grad()
    def step(self):
        self.t += 1
        alpha = self.lr * math.sqrt(1 - 0.999 ** self.t) / (1 - 0.9 ** self.t)
        for p in self.param_groups[0]["params"]:
            if p not in self.of:
                self.of[p] = torch.zeros_like(p), torch.zeros_like(p)
            m, v = self.of[p]
            m.mul_(0.9).add_(0.1 * p.grad)
            v.mul_(0.999).add_(0.001 * p.grad ** 2)
            p -= alpha * m / (v.sqrt() + self.eps)
            p -= self.lr * self.decay * p


OPTIMIZERS = {
    "adam": lambda p: torch.optim.Adam(p, lr=1e-3, foreach=True),
    "adamw": lambda p: torch.optim.AdamW(p, lr=1e-3, weight_decay=0.01),
    "adamw-cs336": Cs336,
    "sgd": lambda p: torch.optim.SGD(p, lr=0.01, momentum=0.9, weight_decay=1e-3),
}


def loss_of(model, y, target):
    if model == "conv1d-resnet":
        return F.mse_loss(y, target)
    return F.cross_entropy(y.flatten(0, -2), target.long().flatten())


def forward(model, p, x, dropout=no_dropout):
    if model in WITH_DROPOUT:
        return WITH_DROPOUT[model](p, x, dropout)
    return MODELS[model](p, x)
