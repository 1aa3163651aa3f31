"""Lines of the program that called operations: as PyTorch's profiler has them with_stack=True and as the recorder has
them, both of one run. In a program: expected() of a profile. Alone: lines.py EXPECTED RECORDING NAME compares."""
import json
import os
import sys

LIBRARY = os.path.dirname(os.__file__) + "/"


def is_foreign(file):
    """PyTorch's own, Python's own or generated: not the program's."""
    return (file.startswith(("torch/", "<frozen", "<eval_with_key>")) or "/torchinductor_" in file
            or os.path.exists(LIBRARY + file))


def expected(profile):
    """[operation, file, first line of the function, function, line or None] by thread. PyTorch has the line in a function
    only where the function calls another one; operators such as + are no calls."""
    threads = {}

    def walk(events, frames):
        for e in events:
            fields, here = e.extra_fields, frames
            kind = type(fields).__name__
            if kind == "_ExtraFields_PyCall" or kind == "_ExtraFields_PyCCall":
                if frames:  # the line at which the frame around calls this one
                    here = frames[:-1] + [frames[-1][:3] + [fields.caller.line_number]]
                site = getattr(fields, "callsite", None)
                if site:
                    here = here + [[site.file_name, site.line_number, site.function_name, None]]
            elif kind == "_ExtraFields_TorchOp" and "USER" not in str(fields.scope):  # an annotation is no operation
                is_run = any("evaluate_function" in n for n in names_around(e))
                own = None if is_run else next((f for f in reversed(here) if not is_foreign(f[0])), None)
                threads.setdefault(e.start_tid, []).append((e.start_time_ns, e.name, own))
            walk(e.children, here)

    def names_around(e):
        while e:
            yield e.name
            e = e.parent

    walk(profile.profiler.kineto_results.experimental_event_tree(), [])
    return [[[n, *(own or [])] for _, n, own in sorted(ops, key=lambda op: op[0])] for ops in threads.values()]


def first_in(part, whole):
    """Where the range of a thread lies in its profile, which has some operations more."""
    return next((i for i in range(len(whole) - len(part) + 1) if whole[i:i + len(part)] == part), None)


def main(want, got, name):
    with open(want) as f:
        want = json.load(f)
    with open(got) as f:
        events = [e for e in json.load(f)["traceEvents"] if e.get("ph") == "X"]
    r = [e for e in events if e["name"] == "oracle " + name][-1]
    threads = {}
    for e in events:
        if e.get("cat") == "cpu_op" and r["ts"] <= e["ts"] and e["ts"] + e["dur"] <= r["ts"] + r["dur"]:
            threads.setdefault(e["tid"], []).append(e)
    recorded = [[(e["name"], e["args"].get("Source")) for e in sorted(t, key=lambda e: (e["ts"], -e["dur"]))]
                for t in threads.values()]
    ops = with_line = exact = 0
    differences = []
    for thread in want:
        names = [op[0] for op in thread]
        here = max(recorded, key=lambda t: len(t) * (first_in([n for n, _ in t], names) is not None))
        at = first_in([n for n, _ in here], names)
        if at is None:
            differences.append(f"no thread has operations of these {len(names)}: {names[:5]}")
            continue
        for (n, *own), (_, source) in zip(thread[at:], here):
            ops += 1
            if not own:
                differences += [f"{n}: {source}, but it has no line"] if source else []
                continue
            file, first, function, line = own
            with_line += 1
            exact += line is not None
            place, _, found = (source or ":0 ").partition(" ")
            path, _, number = place.rpartition(":")
            if not ((path == file or path.endswith("/" + file) or file.endswith("/" + path)) and found == function
                    and (int(number) == line if line else int(number) >= first)):
                differences.append(f"{n}: {source}, not {file}:{line or f'{first} or below'} {function}")
    for d in differences[:5]:
        print(d)
    print(f"{name}: {len(differences)} differences of {ops} operations: {with_line} have a line, {exact} of them to the line")
    return bool(differences) or not exact


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
