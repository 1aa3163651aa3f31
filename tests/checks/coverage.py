#!/usr/bin/env python3
"""Lines that tests reached, by room, from gcov's files: coverage.py BUILD"""
import collections
import json
import os
import subprocess
import sys

TOP = ("formats", "kernels", "recorder", "report")


def main():
    build = os.path.abspath(sys.argv[1])
    root = os.getcwd()
    notes = [os.path.join(f, n) for top in TOP for f, _, names in os.walk(os.path.join(build, top))
             for n in names if n.endswith(".gcda")]
    lines = collections.defaultdict(dict)  # file -> line -> times
    for i in range(0, len(notes), 50):
        made = subprocess.run(["gcov", "--json-format", "--stdout", *notes[i:i + 50]], check=True,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=build).stdout
        for text in made.splitlines():
            for file in json.loads(text)["files"]:
                path = os.path.relpath(os.path.join(build, file["file"]), root)
                if path.startswith(TOP):
                    for line in file["lines"]:
                        n = line["line_number"]
                        lines[path][n] = lines[path].get(n, 0) + line["count"]
    if not lines:
        sys.exit("no file of gcov in " + build)
    rooms = collections.defaultdict(lambda: [0, 0])
    with open(os.path.join(build, "lines.txt"), "w", encoding="utf-8") as missed:
        for path, of in sorted(lines.items()):
            for room in (os.path.dirname(path), "all"):
                rooms[room][0] += sum(1 for n in of.values() if n)
                rooms[room][1] += len(of)
            missed.writelines(f"{path}:{n}\n" for n, times in sorted(of.items()) if not times)
    for room, (reached, total) in sorted(rooms.items(), key=lambda r: (r[0] == "all", r[0])):
        print(f"{room:28} {reached:6} of {total:6} lines  {100 * reached / total:5.1f} %")


main()
