"""First values and batches of the native steps, drawn anew, with numpy: what kernels/base/rng.h,
kernels/exec/exec.h and the models say. Seed 0.
"""
import math

import numpy as np

GOLDEN = 0x9E3779B97F4A7C15
MASK = (1 << 64) - 1


def mix(z):
    """SplitMix64's finaliser, of a number or of an array."""
    if isinstance(z, int):
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & MASK
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB & MASK
        return z ^ (z >> 31)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def stream(name, seed=0):
    key = mix((seed + GOLDEN) & MASK)
    for c in name.encode():
        key = mix(((key ^ c) + GOLDEN) & MASK)
    return key


def bits(key, first, count):
    n = np.arange(first + 1, first + 1 + count, dtype=np.uint64)
    return mix(np.uint64(key) + n * np.uint64(GOLDEN))


def uniform(key, first, count):
    return (bits(key, first, count) >> np.uint64(11)).astype(np.float64) * 2.0 ** -53


def normal(key, count, limit=math.inf):
    """Box and Muller of 24 bits each, drawn again until within the limit."""
    drawn = bits(key, 0, count)
    z = np.empty(count)
    left = np.ones(count, dtype=bool)
    while left.any():
        b = drawn[left]
        n = (b >> np.uint64(40)).astype(np.float64) + 1
        turn = (b & np.uint64(0xFFFFFF)).astype(np.float64) / 2 ** 24
        z[left] = np.sqrt(-2 * np.log(n / 2 ** 24)) * np.cos(2 * np.pi * turn)
        left = left & (np.abs(z) > limit)
        drawn[left] = mix(drawn[left] + np.uint64(GOLDEN))
    return z


# --- first values ---------------------------------------------------------------------------------


def of_weight(kind, key, shape):
    window = int(np.prod(shape[2:])) if len(shape) == 4 else 1
    inputs, outputs, count = shape[1] * window, shape[0] * window, int(np.prod(shape))
    if kind == "he":
        return normal(key, count) * math.sqrt(2 / outputs)
    if kind == "small":
        return normal(key, count) * 0.01
    bound = math.sqrt(6 / (inputs + outputs)) if kind == "xavier" else 1 / math.sqrt(inputs)
    return bound * (2 * uniform(key, 0, count) - 1)


KINDS = {"vgg11": ("he", "small"), "vgg16": ("he", "small"), "resnet18": ("he", "default"),
         "resnet50": ("he", "default"), "conv1d-resnet": ("xavier", "xavier")}
INPUTS = {}  # of the layer that a bias belongs to, which comes behind its weight


def first_value(model, name, shape, residual):
    key, count = stream(name), int(np.prod(shape))
    if model.startswith("transformer"):
        if len(shape) == 1:
            return np.ones(shape)
        std = 1 if name == "embedding" else math.sqrt(2 / sum(shape))
        return (normal(key, count, 3) * std).reshape(shape)
    layer, part = name.rsplit(".", 1)
    if part == "weight" and len(shape) == 1:  # of a norm
        INPUTS[layer] = 0
        return np.ones(shape)
    if part == "weight":
        kind = KINDS.get(model, ("default", "default"))[len(shape) != 4]
        INPUTS[layer] = (kind, int(np.prod(shape[1:])))
        gain = 1 / 32 if residual and layer.startswith("blocks.") else 1
        return (of_weight(kind, key, shape) * gain).reshape(shape)
    kind, inputs = INPUTS[layer] or ("norm", 0)
    if kind == "default":
        return (2 * uniform(key, 0, count) - 1) / math.sqrt(inputs)
    return np.full(shape, 0.01 if kind == "xavier" else 0.0)


# --- batches --------------------------------------------------------------------------------------


def signed(key, n):
    return 2 * uniform(key, n, 1)[0] - 1


def images(step, shape, classes):
    """A wave a channel and class, on a level, with noise."""
    count, channels, height, width = shape
    x, labels = np.empty(shape), np.empty(count)
    row, col = np.arange(height)[:, None], np.arange(width)[None, :]
    for n in range(count):
        key, scale, of = stream("image %d %d" % (step, n)), 1, 0
        if classes == 1:
            labels[n] = scale = 0.8 * signed(key, 0)
        else:
            labels[n] = of = int(bits(key, 0, 1)[0]) % classes
        for c in range(channels):
            k = stream("image class %d channel %d" % (of, c))
            noise = 2 * uniform(key, 1 + c * height * width, height * width) - 1
            wave = np.sin(1.5 * signed(k, 2) * row + 1.5 * signed(k, 3) * col + 3 * signed(k, 4))
            x[n, c] = (scale * (signed(k, 0) + (0.5 + 0.5 * uniform(k, 1, 1)[0]) * wave)
                       + 0.5 * noise.reshape(height, width))
    return x, labels


def tokens(step, shape, vocabulary=256):
    frequent = min(vocabulary, 97)
    x, y = np.empty(shape), np.empty(shape)
    for b in range(shape[0]):
        key = stream("tokens %d %d" % (step, b))
        drawn = [int(v) for v in bits(key, 0, shape[1] + 1)]
        token = drawn[0] % frequent
        for t in range(shape[1]):
            x[b, t], d = token, drawn[t + 1]
            token = (5 * token + 17) % frequent if d % 4 else (d >> 2) % vocabulary
            y[b, t] = token
    return x, y


def batch(model, step, shape, target_shape, classes):
    if model.startswith("transformer"):
        return tokens(step, shape)
    x, labels = images(step, shape, classes)
    return x, labels.reshape(target_shape)


def dropout(name, shape, step, p=0.5):
    """The mask: 0, or what makes up for those that are."""
    count = int(np.prod(shape))
    first = step * (count + count % 2)
    words = bits(stream(name), first // 2, (count + 1) // 2)
    halves = np.stack((words & np.uint64(0xFFFFFFFF), words >> np.uint64(32)), 1).reshape(-1)[:count]
    return np.where(halves < int(p * 2 ** 32 + 0.5), 0.0, 1 / (1 - p)).reshape(shape)
