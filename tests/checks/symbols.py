#!/usr/bin/env python3
"""symbols.py ROOT BUILD: what the object files of the product say about each other.

- no two source files, and no two objects of one archive, define external symbols of one name: the wrong one could bind silently
- an external symbol is used by another file of the product; one that is external for tests, by a test
- no circles of files inside a room: a file that another uses does not use that one

symbols.txt lists the exceptions, none more than there are. Needs the objects of a build without link-time optimisation. Begins by finding faults it plants.
"""
import collections
import fnmatch
import glob
import json
import os
import re
import subprocess
import sys

PRODUCT = ("formats", "kernels", "recorder", "report")


def objects(root, build):
    """Source path -> object files, of the product's sources, that the build makes now: older ones may lie beside them."""
    found = collections.defaultdict(list)
    with open(os.path.join(build, "compile_commands.json")) as f:
        commands = json.load(f)
    for command in commands:
        source = os.path.relpath(command["file"], root)
        made = re.search(r" -o (\S+)", command["command"]).group(1)  # by tests, too: the kernels, emulated
        path = os.path.join(build, made)
        if source.split(os.sep)[0] in PRODUCT and made.split(os.sep)[0] in PRODUCT and os.path.exists(path):
            found[source].append(path)
    return found


def external(files):
    """File, kind and name of each strong external symbol; nm writes "FILE:[MEMBER:]VALUE KIND NAME"."""
    out = subprocess.run(["nm", "-g", "-A", *files], check=True, capture_output=True, text=True)
    for line in out.stdout.splitlines():
        m = re.match(r"([^:]+):.*\s([A-Za-z]) (\S+)$", line)
        if m and m.group(2) not in "wvu":
            yield m.groups()


def read_symbols(found):
    """Source -> (defined, undefined) external names."""
    sources = {path: source for source, paths in found.items() for path in paths}
    symbols = {source: (set(), set()) for source in found}
    for path, kind, name in external(sources):
        symbols[sources[path]][kind == "U"].add(name)
    return symbols


def doubled(symbols):
    """symbols: archive, kind and name, once for each object that has it. Yields faults: one source compiled twice."""
    defined = collections.Counter((archive, name) for archive, kind, name in symbols if kind not in "UVW")
    for (archive, name), count in sorted(defined.items()):
        if count > 1:
            yield f"{archive}: {count} of its objects define {name}"


def circles(edges):
    """Sets of files that reach each other (Tarjan)."""
    index, low, stack, on, out = {}, {}, [], set(), []

    def visit(v):
        index[v] = low[v] = len(index)
        stack.append(v)
        on.add(v)
        for w in edges.get(v, ()):
            if w not in index:
                visit(w)
                low[v] = min(low[v], low[w])
            elif w in on:
                low[v] = min(low[v], index[w])
        if low[v] == index[v]:
            one = []
            while not one or one[-1] != v:
                one.append(stack.pop())
                on.discard(one[-1])
            if len(one) > 1:
                out.append(sorted(one))

    for v in sorted(edges):
        if v not in index:
            visit(v)
    return out


FOR_TESTS = re.compile(r"\btests?\b|fuzz|scenario|the same$|so they do")


def check(symbols, excepted, round_rooms, in_tests):
    """symbols: source -> (defined, undefined); excepted: symbol -> its reason; in_tests: words of tests. Yields faults."""
    users, makers = collections.defaultdict(set), collections.defaultdict(set)
    for source, (defined, undefined) in symbols.items():
        for name in defined:
            makers[name].add(source)
        for name in undefined:
            users[name].add(source)
    needed = set()
    for name in sorted(makers):
        exception = next((e for e in excepted if fnmatch.fnmatchcase(name, e)), None)
        if len(makers[name]) > 1 and name != "main":
            yield f"{name}: defined by {' and by '.join(sorted(makers[name]))}"
        elif not users[name] and exception is None:
            (source,) = makers[name]
            yield f"{source}: no other file uses {name}: make it static, or delete it"
        elif not users[name]:
            needed.add(exception)
            if FOR_TESTS.search(excepted[exception]) and name not in in_tests:
                (source,) = makers[name]
                yield f"{source}: no test uses {name}, as symbols.txt says: make it static, or delete it"
    for name in sorted(set(excepted) - needed):
        yield f"symbols.txt: {name} needs no exception any more"
    edges = collections.defaultdict(set)
    for name, sources in makers.items():
        for maker in sources:
            for user in users[name]:
                if user != maker and os.path.dirname(user) == os.path.dirname(maker):
                    edges[user].add(maker)
    still_round = set()
    for circle in circles(edges):
        room = os.path.dirname(circle[0])
        still_round.add(room)
        if room not in round_rooms:
            yield "a circle of files: " + "; ".join(
                f"{a} -> {b} ({', '.join(sorted(symbols[a][1] & symbols[b][0])[:3])})"
                for a in circle for b in circle if a != b and symbols[a][1] & symbols[b][0])
    for room in sorted(set(round_rooms) - still_round):
        yield f"symbols.txt: {room} has no circle any more"


def self_test():
    planted = {
        "a/x.c": ({"twice", "x"}, {"y"}),
        "a/y.c": ({"y", "alone", "kept_1", "kept_2", "named"}, {"x"}),
        "b/z.c": ({"twice", "v"}, {"w"}),
        "b/w.c": ({"w"}, {"v"}),
    }
    faults = list(check(planted, {"gone": "", "kept_*": "tests ask", "named": "looked up"}, {"b", "c"}, {"kept_1"}))
    for fault in ("twice: defined by a/x.c and by b/z.c", "a/y.c: no other file uses alone", "a/y.c: no test uses kept_2",
                  "a circle of files: a/x.c -> a/y.c (y); a/y.c -> a/x.c (x)",
                  "symbols.txt: gone needs no exception", "symbols.txt: c has no circle"):
        assert any(f.startswith(fault) for f in faults), (fault, faults)
    assert len(faults) == 6, faults
    members = [("a.a", "T", "x"), ("a.a", "U", "x"), ("a.a", "D", "x"), ("a.a", "T", "y"), ("a.a", "W", "y"), ("b.a", "T", "y")]
    assert list(doubled(members)) == ["a.a: 2 of its objects define x"]


def main():
    root, build = sys.argv[1:]
    self_test()
    found = objects(root, build)
    if len(found) < 100:
        sys.exit(f"only {len(found)} object files of the product in {build}: build it first")
    with open(os.path.join(root, "tests/checks/symbols.txt"), encoding="utf-8") as f:
        reasons = {name.strip(): reason.strip() for name, _, reason in (line.partition(":") for line in f if ":" in line and line[0] != "#")}
    symbols = read_symbols(found)
    has_cuda = any(source.startswith("kernels/cuda/") for source in symbols)
    mine, other = ("cuda ", "nocuda ") if has_cuda else ("nocuda ", "cuda ")
    reasons = {name.removeprefix(mine): reason for name, reason in reasons.items() if not name.startswith(other)}
    excepted = {name: reason for name, reason in reasons.items() if " " not in name}
    round_rooms = [name[7:] for name in reasons if name.startswith("circle ")]
    in_tests = set()
    for path in glob.glob(os.path.join(root, "tests", "**", "*.[chi]*"), recursive=True) + glob.glob(os.path.join(root, "tests", "**", "*.cu"), recursive=True):
        with open(path, encoding="utf-8", errors="replace") as f:
            in_tests.update(re.findall(r"\w+", f.read()))
    archives = glob.glob(os.path.join(build, "lib", "*.a"))
    if not archives:
        sys.exit(f"no archives in {build}/lib: build it first")
    faults = list(check(symbols, excepted, round_rooms, in_tests)) + list(doubled(external(archives)))
    print("\n".join(faults))
    print(f"{len(found)} files, {sum(len(d) for d, _ in symbols.values())} external symbols, "
          f"{len(faults)} faults")
    sys.exit(1 if faults else 0)


main()
