"""Warpsheet from Python: reports as columns, and ranges of a program that is recorded.

    import warpsheet
    ops = warpsheet.report("run.wtrace", "ops")      # {"Name": [...], "Calls": [...], ...}
    pandas.DataFrame(ops)                            # or polars.DataFrame(ops)

    with warpsheet.annotate("evaluation"):           # a range, under `warpsheet record`
        evaluate()

Standard library alone: the numbers come from the program `warpsheet`, beside this Python or in PATH.
"""
import contextlib
import ctypes
import json
import os
import shutil
import subprocess
import sysconfig

__all__ = ["Error", "annotate", "report", "step"]


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


def report(path, table, *options):
    """A table of a trace as a dict of columns, in its order; unknown is None, and a column has one type of number.
    options: of `warpsheet report`."""
    done = subprocess.run([_program(), "report", os.fspath(path), "--table", table, "--format", "json", *options],
                          capture_output=True, text=True, encoding="utf-8", check=False)
    if done.returncode:
        raise Error(done.stderr.strip())
    made = json.loads(done.stdout)
    return {column["title"]: _column([row[i] for row in made["rows"]]) for i, column in enumerate(made["columns"])}


def _collector():
    """The library that records this process; None where it is not recorded."""
    path = os.environ.get("NVTX_INJECTION64_PATH", "")
    if os.path.basename(path) != "libwarpsheet-collect.so":
        return None
    try:
        library = ctypes.PyDLL(path)
        library.warpsheet_push.argtypes, library.warpsheet_push.restype = [ctypes.c_char_p], None
        library.warpsheet_pop.restype = None
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
