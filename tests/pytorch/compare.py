"""Operations of two files in PyTorch's JSON, the profiler's own and one of a recording: the same
names in the same order on the same threads, with the same inputs and links. In the range `oracle NAME`."""
import json
import sys

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


def main(oracle, recording, name):
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
    return bool(differences) or not n


sys.exit(main(*sys.argv[1:]))
