"""The Python of docs/python.md, run as it stands: page.py SOURCE program|report. Below `warpsheet record` the part
that annotates; elsewhere the others, on run.wtrace here, and what they print is what the page says. What pandas or polars
needs is left out, visibly, without them."""
import contextlib
import importlib.util
import io
import os
import re
import sys

source, part = sys.argv[1:]
with open(os.path.join(source, "docs", "python.md"), encoding="utf-8") as f:
    blocks = re.findall(r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", f.read(), re.S)
program = [code for code, _ in blocks if "annotate(" in code]
reports = [block for block in blocks if "annotate(" not in block[0]]
assert len(program) == 1 and len(reports) == 5, "the page has other examples"
seen = {}
if part == "program":
    trained = []
    seen = {"warpsheet": importlib.import_module("warpsheet"), "evaluate": lambda: None, "loader": range(3),
            "train": trained.append}
    exec(program[0], seen)
    assert seen["tokenize"]("a b") == ["a", "b"] and trained == [0, 1, 2]
else:
    for code, output in reports:
        needs = re.match(r"import (pandas|polars)", code)
        if needs and not importlib.util.find_spec(needs.group(1)):
            print(f"SKIP: no {needs.group(1)}: its example was not run")
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(code, seen)
        assert printed.getvalue() == output or not output and printed.getvalue(), printed.getvalue()
