"""Warpsheet from Python: reports as columns, and ranges of a program that is recorded.

    import warpsheet
    ops = warpsheet.report("run.wtrace", "ops")      # {"Name": [...], "Calls": [...], ...}
    pandas.DataFrame(ops)                            # or polars.DataFrame(ops)
    warpsheet.page("run.wtrace")                     # the HTML page, in a notebook

    with warpsheet.annotate("evaluation"):           # a range, under `warpsheet record`
        evaluate()
    warpsheet.fact(batch=16)                         # of the recorded work, for diff, gate and sweep

Standard library alone: the numbers come from the program `warpsheet`, beside this Python or in PATH.
"""
import contextlib
import ctypes
import html
import json
import os
import re
import shutil
import subprocess
import sysconfig
import tempfile

__all__ = ["Error", "Page", "Table", "annotate", "diff", "fact", "gate", "page", "record", "report", "step", "sweep"]


class Error(Exception):
    """What `warpsheet` said instead of a table."""


def _program():
    beside = os.path.join(sysconfig.get_path("scripts"), "warpsheet.exe" if os.name == "nt" else "warpsheet")
    found = beside if os.access(beside, os.X_OK) else shutil.which("warpsheet")
    if not found:
        raise Error("the program warpsheet is neither beside this Python nor in PATH")
    return found


def _column(cells):
    """JSON's 25 among 25.1 is an int, which polars refuses."""
    is_real = any(isinstance(cell, float) for cell in cells)
    return [float(cell) if is_real and type(cell) is int else cell for cell in cells]


class Table(dict):
    """A dict of columns, in the table's order; unknown is None, and a column has one type of number. A notebook shows
    it as `warpsheet` does in Markdown: title, the rows in readable units, notes."""

    def __init__(self, made, markdown=lambda: ""):
        columns = made["columns"]
        super().__init__((c["title"], _column([row[i] for row in made["rows"]])) for i, c in enumerate(columns))
        self.title = made.get("title") or made.get("table", "")
        self.units = {c["title"]: c["unit"] for c in columns}
        self.notes = made.get("notes", [])
        self._markdown = markdown

    def _repr_html_(self):
        shown, head, align = "", None, None
        for line in filter(None, self._markdown().split("\n## ", 1)[-1].splitlines()):
            text = [html.escape(re.sub(r"\\(.)|`|\*\*|^- ", r"\1", cell).strip())
                    for cell in re.split(r"(?<!\\)\|", line)]
            if not line.startswith("|"):
                shown += "</table>" * bool(align) + ("<p>%s</p>" if shown else "<b>%s</b>") % "|".join(text)
                head = align = None
            elif not head:
                head = text[1:-1]
            else:
                row, kind = (text[1:-1], "td") if align else (head, "th")
                shown += "" if align else "<table>"
                align = align or ["right" if cell.endswith(":") else "left" for cell in text[1:-1]]
                shown += "<tr>%s</tr>" % "".join(f"<{kind} style='text-align:{to}'>{cell}</{kind}>"
                                                 for to, cell in zip(align, row))
        return shown + "</table>" * bool(align)


class Page:
    """An HTML page, which a notebook embeds."""

    def __init__(self, text):
        self.html = text

    def _repr_html_(self):
        return ("<iframe style='width:100%;height:720px;border:0' sandbox='allow-scripts' srcdoc=\""
                + html.escape(self.html) + "\"></iframe>")


def _run(arguments, statuses=(0,)):
    done = subprocess.run([_program(), *arguments], capture_output=True, text=True, encoding="utf-8", check=False)
    if done.returncode not in statuses:
        raise Error(done.stderr.strip())
    return done


def _paths(given):
    """One path, or several of one side."""
    return [os.fspath(given)] if isinstance(given, (str, os.PathLike)) else [os.fspath(p) for p in given]


def _table(command, traces, table, options, statuses=(0,)):
    def made(form, *rows):
        return _run([command, *traces, "--table", table, "--format", form, *rows, *options], statuses).stdout

    return Table(json.loads(made("json")), lambda: made("md", *([] if command == "sweep" else ["--rows", "40"])))


def report(path, table="step-statistics", *options):
    """A table of a trace, or of the traces of ranks. options: of `warpsheet report`."""
    return _table("report", _paths(path), table, options)


def page(path, *options):
    """The HTML page of a trace, as `warpsheet report -o page.html` writes it."""
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "page.html")
        _run(["report", *_paths(path), "-o", out, *options])
        with open(out, encoding="utf-8") as file:
            return Page(file.read())


def diff(a, b, table="diff-verdict", *options):
    """A table of the comparison of two traces, or folders of several. options: of `warpsheet diff`."""
    return _table("diff", [os.fspath(a), os.fspath(b)], table, options, (0, 1))


def sweep(path, table="sweep", *options):
    """A table of several recordings by configuration. options: of `warpsheet sweep`."""
    return _table("sweep", _paths(path), table, options)


def gate(traces, baseline, *options):
    """What `warpsheet gate` says of traces against the baseline in a folder, and its exit status: 0 as fast or
    faster, 1 slower, 6 cannot tell."""
    done = _run(["gate", "--baseline", os.fspath(baseline), *options, "--", *_paths(traces)], (0, 1, 6))
    return done.returncode, done.stdout


def record(program, output, *options):
    """Records a program, a list of its arguments, into a trace; the program's exit status. options: of
    `warpsheet record`."""
    done = subprocess.run([_program(), "record", "-o", os.fspath(output), *options, "--", *program], check=False)
    if not os.path.exists(output):
        raise Error(f"warpsheet record ended with {done.returncode} and left no {os.fspath(output)}")
    return done.returncode


def _collector():
    """The library that records this process; None where it is not recorded."""
    path = os.environ.get("NVTX_INJECTION64_PATH", "")
    if os.path.basename(path) != "libwarpsheet-collect.so":
        return None
    try:
        library = ctypes.PyDLL(path)
        library.warpsheet_push.argtypes, library.warpsheet_push.restype = [ctypes.c_char_p], None
        library.warpsheet_pop.restype = None
        library.warpsheet_fact.argtypes, library.warpsheet_fact.restype = [ctypes.c_char_p] * 2, None
    except (OSError, AttributeError):
        return None
    return library


class annotate(contextlib.ContextDecorator):
    """A range of this name, as a `with` block or a decorator; nothing where the program is not recorded."""
    _library = False  # not looked for so far

    def __init__(self, name):
        self._name = os.fsencode(str(name))
        if annotate._library is False:
            annotate._library = _collector()

    def __enter__(self):
        if annotate._library:
            annotate._library.warpsheet_push(self._name)
        return self

    def __exit__(self, *_):
        if annotate._library:
            annotate._library.warpsheet_pop()
        return False


def step():
    """A range that reports take for a step."""
    return annotate("step")


def fact(**facts):
    """Facts of the workload: fact(batch=16, dtype="bf16"). diff and sweep tell runs apart by them."""
    if annotate._library is False:
        annotate._library = _collector()
    for key, value in facts.items():
        if annotate._library:
            annotate._library.warpsheet_fact(os.fsencode("workload." + key), os.fsencode(str(value)))
