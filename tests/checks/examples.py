#!/usr/bin/env python3
"""The examples of users' pages, run as they stand there.
examples.py ROOT BIN [--update] PAGE...   exit 1 when a command fails or prints something else
A block ```sh is run line by line: each command must succeed. A block ```console has commands behind "$ " and below
each what it prints; a line "…" stands for the rest of the output. --update writes what they print now, at most
as many lines as the page had, or FIRST_LINES where it had none. All blocks of a page run in one empty folder, where
fixtures/ is the project's. A comment that begins `<!-- run` holds commands that make what the page takes for granted. Below
`<!-- run-cells -->` each command in a cell of a table is run, too. Blocks of other languages, or of none, are not run.
"""
import os
import re
import subprocess
import sys
import tempfile

FIRST_LINES = 24
COLUMNS = "100"
BUILDS = re.compile(r"^(run/|cmake |export PATH)")  # what the build of this test has done already


CELL = re.compile(r"`(warpsheet(?:-step)? [^`]+)`")


def run(command, folder, bin_folder):
    env = dict(os.environ, PATH=bin_folder + os.pathsep + os.environ["PATH"], COLUMNS=COLUMNS, NO_COLOR="1", TERM="dumb")
    done = subprocess.run(["bash", "-c", command], cwd=folder, env=env, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300, check=False)
    return done.returncode, [line.rstrip() for line in done.stdout.rstrip("\n").split("\n")]


def blocks(lines):
    """(language, first line of the content, line of the closing fence)"""
    at, cells = 0, False
    while at < len(lines):
        if lines[at].startswith("<!-- run-cells"):
            cells = True
        elif lines[at].startswith("<!-- run"):
            first = at + 1
            while lines[at] != "-->":
                at += 1
            yield "sh", first, at
        elif cells and CELL.search(lines[at]):
            yield "cell", at, at + 1
        fence = re.match(r"```(\w+)", lines[at])
        at += 1
        if fence or lines[at - 1].startswith("```"):
            first = at
            while not lines[at].startswith("```"):
                at += 1
            if fence:
                yield fence.group(1), first, at
            at += 1


def examples(content):
    """(command, lines below it)"""
    found = []
    for line in content:
        if line.startswith("$ "):
            found.append((line[2:], []))
        else:
            found[-1][1].append(line)
    return found


def shown(output, expected):
    """What a page says of this output."""
    if "…" not in expected:
        return output if expected or output == [""] else output[:FIRST_LINES]
    most = expected.index("…") or FIRST_LINES
    return output if len(output) <= most else output[:most] + ["…"]


def check_page(root, page, bin_folder, update):
    with open(os.path.join(root, page), encoding="utf-8") as f:
        lines = f.read().split("\n")
    bad, ran, new, copied = 0, 0, [], 0
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(os.path.join(root, "fixtures"), os.path.join(folder, "fixtures"))
        for language, first, end in blocks(lines):
            if language in ("sh", "cell"):
                for command in CELL.findall(lines[first]) if language == "cell" else lines[first:end]:
                    if not command or command.startswith("#") or BUILDS.match(command):
                        continue
                    status, output = run(command, folder, bin_folder)
                    ran += 1
                    if status > (language == "cell"):  # 1: a finding, of traces that stand for a reader's
                        bad += 1
                        print(f"{page}: exit status {status}: {command}", *output[-5:], sep="\n    ")
            elif language == "console":
                new += lines[copied:first]
                for command, expected in examples(lines[first:end]):
                    status, output = run(command, folder, bin_folder)
                    ran += 1
                    said = shown(output, expected)
                    if status:
                        bad += 1
                        print(f"{page}: exit status {status}: {command}", *output[-5:], sep="\n    ")
                    elif said != expected and not update:
                        bad += 1
                        differ = next((i for i, pair in enumerate(zip(said, expected)) if pair[0] != pair[1]),
                                      min(len(said), len(expected)))
                        print(f"{page}: {command}", f"prints  {said[differ:differ + 1]}",
                              f"page has {expected[differ:differ + 1]}", "run/update docs, and read the difference", sep="\n    ")
                    new += ["$ " + command] + said
                copied = end
    new += lines[copied:]
    if update and new != lines and not bad:
        with open(os.path.join(root, page), "w", encoding="utf-8") as f:
            f.write("\n".join(new))
        print(f"{page}: written")
    return bad, ran


def main():
    root, bin_folder = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    update = "--update" in sys.argv
    bad = ran = 0
    for page in [p for p in sys.argv[3:] if p != "--update"]:
        b, r = check_page(root, os.path.relpath(os.path.abspath(page), root), bin_folder, update)
        bad, ran = bad + b, ran + r
    print(f"{ran} examples, {bad} failed")
    return 1 if bad or not ran else 0


sys.exit(main())
