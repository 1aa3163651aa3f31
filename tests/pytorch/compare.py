"""Operations of two files in PyTorch's JSON, the profiler's own and one of a recording: the same
names in the same order on the same threads, with the same inputs and links. In the range `oracle NAME`.
And FLOPs of the recording against those that PyTorch's counter has for the same step, and against numbers by hand."""
import json
import sys
from collections import Counter
from math import prod

INPUTS = ("Input Dims", "Input type", "Input Strides", "Concrete Inputs")


def events(path):
    text = json.load(open(path))
    return [e for e in text["traceEvents"] if e.get("ph") == "X"]


def operations(path, name):
    all_events = events(path)
    r = [e for e in all_events if e["name"] == name and e.get("cat") == "user_annotation"][-1]
    begin, end = float(r["ts"]), float(r["ts"]) + float(r["dur"])
    threads = {}
    for e in all_events:
        if e.get("cat") == "cpu_op" and begin <= float(e["ts"]) and float(e["ts"]) + float(e["dur"]) <= end:
            threads.setdefault(e["tid"], []).append(e)
    for ops in threads.values():
        ops.sort(key=lambda e: (float(e["ts"]), -float(e["dur"])))
    return threads


def shortened(values):
    """The profiler leaves lists of more than 30 tensors out."""
    return [[] if len(v) > 30 and isinstance(v[0], list) else v for v in values]


def row(e):
    a = e.get("args", {})
    inputs = tuple(json.dumps(shortened(a.get(k, []))) for k in INPUTS)
    return (e["name"],) + inputs + (a.get("Sequence number", -1), a.get("Fwd thread id", 0))


def multiplications(e):
    """FLOPs of an operation without the additions of a bias, which PyTorch's counter leaves out."""
    dims, concrete = e["args"]["Input Dims"], e["args"].get("Concrete Inputs", [])
    flops, op = e["args"].get("FLOPs", 0), e["name"]
    if op in ("aten::addmm", "aten::baddbmm"):
        terms = dims[1][-1]  # a result is so many products, and one bias
        return flops * 2 * terms // (2 * terms + 1)
    if op == "aten::convolution" and dims[2]:
        terms = prod(dims[1][1:])
        return flops * 2 * terms // (2 * terms + 1)
    if op == "aten::convolution_backward":
        wanted = [word == "True" for word in concrete[10].strip("[]").split(", ")]
        return flops - wanted[2] * prod(dims[0])
    return flops


# Attention forward and backward by rules of ours, where PyTorch's counter counts all pairs or has none: two products,
# and five, over the pairs that a causal mask leaves: 12 tokens are 78 pairs, of batch 2, 4 heads, 8 numbers each; 2 layers
BY_HAND = {"transformer": (2 * 2 * 2 * 4 * 78 * (8 + 8), 2 * 2 * 2 * 4 * 78 * (5 * 8))}
ATTENTION = "aten::_scaled_dot_product_"


def flops_of(events, op, one=multiplications):
    return sum(one(e) for thread in events.values() for e in thread if e["name"] == op)


def wrong_flops(path, events, name):
    with open(path) as f:
        counted = json.load(f)
    if name in BY_HAND:
        counted = {op: n for op, n in counted.items() if not op.startswith(ATTENTION)}
    wrong = [f"{op}: {flops_of(events, op)} FLOPs, and {n} by PyTorch's counter"
             for op, n in counted.items() if flops_of(events, op) != n]
    for is_backward, n in enumerate(BY_HAND.get(name, ())):
        ours = sum(e["args"].get("FLOPs", 0) for thread in events.values() for e in thread
                   if e["name"].startswith(ATTENTION) and e["name"].endswith("_backward") == is_backward)
        if ours != n:
            wrong.append(f"attention, {'backward' if is_backward else 'forward'}: {ours} FLOPs, and {n} by hand")
    print(f"{name}: {sum(counted.values())} FLOPs in {len(counted)} operations by PyTorch's counter, {len(wrong)} differences")
    return wrong


def without_repeats(events):
    """Without those right inside one of their own name, or so close behind one that rounded times put them there."""
    around, ended = [], {}
    for e in sorted(events, key=lambda e: (e["ts"], -e["dur"])):
        while around and around[-1]["ts"] + around[-1]["dur"] <= e["ts"]:
            last = around.pop()
            ended[last["name"]] = last["ts"] + last["dur"]
        is_inside = around and around[-1]["name"] == e["name"]
        if not is_inside and e["ts"] - ended.get(e["name"], float("-inf")) > 2:
            yield e
        around.append(e)


def in_range(path, name):
    """What is in the range `oracle NAME`. Without Kineto a profile is a list, in whole microseconds."""
    with open(path) as f:
        text = json.load(f)
    is_profile = isinstance(text, list)
    all_events = [e for e in (text if is_profile else text["traceEvents"]) if e["ph"] == "X"]
    r = [e for e in all_events if e["name"] == "oracle " + name][-1]
    end = r["ts"] + r["dur"] + is_profile
    return [e for e in all_events if r["ts"] <= e["ts"] and e["ts"] + e["dur"] <= end]


def compare_names(oracle, recording, name):
    """How often each name is there: a profile without Kineto has no more. It leaves out some repeats, by rounded times."""
    want, got, least = (Counter(e["name"] for e in events) for events in (
        in_range(oracle, name), in_range(recording, name), without_repeats(in_range(recording, name))))
    differences = {n: (want[n], got[n]) for n in want | got if not least[n] <= want[n] <= got[n]}
    print(f"{name}: {len(differences)} differences of {want.total()} operations, by name", differences or "")
    return bool(differences) or want.total() < 2


def main(oracle, recording, name, recorded="shapes"):
    if recorded != "shapes":
        return compare_names(oracle, recording, name)
    want, got = operations(oracle, "oracle " + name), operations(recording, "oracle " + name)
    # the profiler follows the threads that its own started; the recording has the others, too
    more = sum(len(got[t]) for t in got if t not in want)
    differences = []
    n = linked = 0
    for tid in want:
        a, b = [row(e) for e in want[tid]], [row(e) for e in got.get(tid, [])]
        n += len(a)
        linked += sum(1 for e in b if e[5] >= 0)
        if len(a) != len(b):
            differences.append(f"thread {tid}: {len(a)} and {len(b)} operations")
        differences += [f"{tid} {i}: {x}\n     not {y}" for i, (x, y) in enumerate(zip(a, b)) if x != y]
    for d in differences[:3]:
        print(d)
    print(f"{name}: {len(differences)} differences of {n} operations, {linked} with a number; {more} on other threads")
    # the counter, too, is of its own threads
    wrong = wrong_flops(oracle.removesuffix(".json") + ".flops", {t: got.get(t, []) for t in want}, name)
    for w in wrong:
        print(w)
    return bool(differences or wrong) or not n


sys.exit(main(*sys.argv[1:]))
