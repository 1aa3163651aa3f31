#!/usr/bin/env python3
"""The house as layers.txt says: who includes whom, no circles, no room too full, a README in each.

layers.py ROOT        prints each offence; exit 1 when there is one
layers.py --self-test plants offences and must find each of them
"""
import fnmatch
import os
import re
import sys
import tempfile

TOP = ("formats", "kernels", "recorder", "report")
SOURCE = (".c", ".h", ".def", ".cu", ".cuh")
MOST_FILES = 30
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*["<]([^">]+)[">]', re.M)


def rules(root):
    rooms, libraries = {}, []
    for line in open(os.path.join(root, "tests/checks/layers.txt"), encoding="utf-8"):
        line = line.split("#")[0].strip()
        if line.startswith("|"):
            _, pattern, allowed = line.split(" ", 1)[0], *line[1:].rsplit("|", 1)
            libraries.append((re.compile(pattern.strip()), allowed.split()))
        elif line:
            room, may = line.split(":")
            may = list(rooms) if may.strip() == "*" else may.split()
            for name in may:
                if name not in rooms:
                    yield f"layers.txt: {room} names {name}, which does not stand above it"
            rooms[room] = set(may) | {room}
    yield rooms, libraries


def offences(root):
    *said, (rooms, libraries) = rules(root)
    yield from said
    seen = {}
    for top in TOP:
        for folder, _, names in os.walk(os.path.join(root, top)):
            room = os.path.relpath(folder, root).replace(os.sep, "/")
            files = [n for n in names if n.endswith(SOURCE)]
            if files:
                seen[room] = files
            if len(files) > MOST_FILES:
                yield f"{room}: {len(files)} files; a room holds {MOST_FILES} at most"
    for room in rooms:
        if room not in seen:
            yield f"layers.txt: {room} is no room of the tree"
    for room, files in seen.items():
        if room not in rooms:
            yield f"{room}: not in tests/checks/layers.txt"
            continue
        if not os.path.exists(os.path.join(root, room, "README.md")):
            yield f"{room}: no README.md"
        for name in files:
            path = f"{room}/{name}"
            text = open(os.path.join(root, path), encoding="utf-8", errors="replace").read()
            for header in INCLUDE.findall(text):
                to = header.rpartition("/")[0]
                if header.split("/")[0] in TOP + ("tests",):
                    if to not in rooms[room]:
                        yield f"{path}: includes {header}; {room} may not"
                    elif not os.path.exists(os.path.join(root, header)):
                        yield f"{path}: includes {header}, which does not exist"
                for pattern, allowed in libraries:
                    if pattern.search(header) and not any(
                            fnmatch.fnmatch(path, a) for a in allowed):
                        yield f"{path}: includes {header}, a library that it must not know"


PLANTED = (
    ("formats/base/a.c", "formats/trace/reader.h"), ("formats/trace/a.c", "report/table/table.h"),
    ("formats/trace/a.h", "zstd.h"), ("formats/codec/a.h", "xxhash.h"),
    ("kernels/cuda/own/a.cu", "formats/codec/block.h"), ("kernels/run/a.c", "recorder/shared/record.h"),
    ("kernels/graph/a.h", "kernels/exec/exec.h"), ("recorder/launch/a.c", "kernels/graph/op.h"),
    ("recorder/cupti/a.c", "cupti.h"), ("recorder/collect/a.c", "formats/trace/writer.h"),
    ("report/tables/a.c", "xlsxwriter.h"), ("report/model/a.h", "report/tables/tables.h"),
    ("report/commands/a.c", "termios.h"), ("report/writers/a.c", "report/model/model.h"),
    ("report/base/a.c", "tests/support/imported.h"), ("report/base/b.c", "formats/base/gone.h"),
)


def self_test(root):
    with tempfile.TemporaryDirectory() as plant:
        os.makedirs(os.path.join(plant, "tests/checks"))
        text = open(os.path.join(root, "tests/checks/layers.txt"), encoding="utf-8").read()
        open(os.path.join(plant, "tests/checks/layers.txt"), "w", encoding="utf-8").write(text)
        for room in re.findall(r"^([a-z_/]+):", text, re.M):
            os.makedirs(os.path.join(plant, room), exist_ok=True)
            open(os.path.join(plant, room, "README.md"), "w", encoding="utf-8").close()
            open(os.path.join(plant, room, "empty.h"), "w", encoding="utf-8").close()
        for _, header in PLANTED[:-1]:
            if "/" in header:
                os.makedirs(os.path.join(plant, os.path.dirname(header)), exist_ok=True)
                open(os.path.join(plant, header), "a", encoding="utf-8").close()
        clean = list(offences(plant))
        for path, header in PLANTED:
            with open(os.path.join(plant, path), "a", encoding="utf-8") as f:
                f.write(f'# include "{header}"\n')
        found = list(offences(plant))
    if clean or len(found) != len(PLANTED):
        print("\n".join(clean + found))
        sys.exit(f"self-test: {len(clean)} offences in a clean tree, found {len(found)} of "
                 f"{len(PLANTED)} planted ones")


def main():
    root = sys.argv[1]
    self_test(root)
    found = list(offences(root))
    print("\n".join(found) or "every include goes one way")
    sys.exit(bool(found))


main()
