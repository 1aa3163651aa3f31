"""Imports of small files: run.py WARPSHEET FILE.scenario. A paragraph `test NAME` holds a file of a profiler, those
behind it what its import must make and say: README.md beside this."""
import csv
import gzip
import os
import re
import sqlite3
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "..", "report", "scenarios"))
import scenario  # pylint: disable=wrong-import-position
from scenario import Wrong  # pylint: disable=wrong-import-position


def expand(lines, defined):
    """`NAME A|B` stands for the lines of the paragraph `define NAME A B`, with $A and $B in them; `file NAME` for those
    of a file beside this; `times N LINE` for N such lines."""
    for line in lines:
        name, _, rest = line.partition(" ")
        if name == "times":
            count, _, line = rest.partition(" ")
            yield from list(expand([line], defined)) * int(count)
        elif name == "file":
            with open(os.path.join(HERE, rest), encoding="utf-8") as f:
                yield f.read()
        elif name in defined:
            parameters, body = defined[name]
            given = rest.split("|") if rest else []
            values = dict(zip(parameters, given))
            if len(parameters) != len(given):
                raise Wrong(f"{name} takes {' '.join(parameters)}")
            for part in expand(body, defined):
                yield re.sub(r"\$(\w+)", lambda m, v=values: v[m[1]], part)
        else:
            yield line


def write(kind, lines, path):
    """A timeline of PyTorch's: all of its text, or its events; or a database in the schema of Nsight Systems, which is
    returned. <ff> is a byte, <61*1000> as many of one. `gzip -100`: compressed, without the last 100 bytes."""
    kind, *options = kind.split()
    if kind == "sql":
        db = sqlite3.connect(path)
        db.create_function("tid", 2, lambda pid, tid: 1 << 48 | pid << 24 | tid)
        db.executescript("\n".join(lines))
        if "open" not in options:
            db.close()
        return db
    text = "\n".join(lines) if kind == "text" else '{"traceEvents":[' + ",\n".join(lines) + "]}"
    data = re.sub(rb"<([0-9a-f]{2})(?:\*(\d+))?>", lambda m: bytes.fromhex(m[1].decode()) * int(m[2] or 1),
                  text.encode("utf-8", "surrogateescape"))
    if options:
        data = gzip.compress(data)[:int(options[1]) if options[1:] else None]
    with open(path, "wb") as f:
        f.write(data)
    return None


class Import:
    """A file, what its import said, and the rows that it made."""
    def __init__(self, warpsheet, source, folder):
        def run(*arguments):
            return subprocess.run([warpsheet, *arguments], capture_output=True, encoding="utf-8", errors="surrogateescape",
                                  check=False)

        self.run, self.source, self.trace = run, source, os.path.join(folder, "test.wtrace")
        made = run("import", source, "-o", self.trace)
        self.status, self.said = made.returncode, made.stdout + made.stderr
        if not self.status:
            if run("check", self.trace).returncode:
                raise Wrong("the trace is damaged")
            read, kept, left_out = (int(n) for n in re.findall(r"(\d+)  records (?:read|kept|left out)", made.stdout))
            if read != kept + left_out:
                raise Wrong(f"{read} read, {kept} kept, {left_out} left out")
            self.said += run("info", self.trace).stdout + self.ask("SELECT text FROM string_record")
        self.said = re.sub(r"\s+", " ", self.said)

    def ask(self, query):
        asked = self.run("query", self.trace, query, "--format", "csv")
        if asked.returncode:
            raise Wrong(f"{query}: {asked.stderr}")
        return asked.stdout

    def check_rows(self, part):
        """All rows of a kind, in their order."""
        columns, *expected = csv.reader(part.lines)
        kind, _, more = part.rest.partition(" ")
        named = [f'"{c}"' if c.isidentifier() else c for c in columns]  # `group` is a word of SQL
        answer = csv.reader(self.ask(f"SELECT {', '.join(named)} FROM {kind}_record {more}").splitlines(True))
        rows = [row or [""] for row in answer][1:]  # an empty line is an empty cell
        if rows != expected:
            raise Wrong(f"rows {part.rest} are{scenario.as_csv(rows)}")

    def check_said(self, part):
        for line in part.lines:
            if (line.removeprefix("! ") in self.said) == line.startswith("! "):
                raise Wrong(f"{line} is not so in: {self.said}")

    def check_refused(self, part):
        if self.status != int(part.rest):
            raise Wrong(f"status {self.status}: {self.said}")
        self.check_said(part)

    def check_again(self, _):
        """A second import makes the same bytes."""
        again = self.trace + ".again"
        self.run("import", self.source, "-o", again)
        with open(self.trace, "rb") as first, open(again, "rb") as second:
            if first.read() != second.read():
                raise Wrong("another trace")


def main(warpsheet, path):
    made, defined, tests, name, opened = None, {}, 0, "", None
    with tempfile.TemporaryDirectory() as top:
        for part in scenario.parts(path):
            try:
                if part.what == "define":
                    word, *parameters = part.rest.split()
                    defined[word] = parameters, part.lines
                elif part.what == "test":
                    name, tests = part.rest, tests + 1
                    folder = tempfile.mkdtemp(dir=top)
                    source = os.path.join(folder, "source")
                    opened = write(part.lines[0], expand(part.lines[1:], defined), source)
                    made = Import(warpsheet, source, folder)
                else:
                    {"rows": made.check_rows, "said": made.check_said, "refused": made.check_refused,
                     "again": made.check_again}[part.what](part)
            except (Wrong, KeyError, ValueError) as wrong:
                raise SystemExit(f"{path}:{part.number}: {name}: {wrong!r}"[:5000]) from None
    del opened  # a database that a test left open stayed so until the next
    print(f"{path}: {tests} tests")


main(*sys.argv[1:])
