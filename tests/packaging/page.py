"""The Python of docs/pytorch.md, run as it stands: page.py SOURCE program|report. Below `warpsheet record` the part
that annotates; elsewhere the others, on run.wtrace here. What pandas or polars needs is left out, visibly, without them."""
import importlib.util
import os
import re
import sys

source, part = sys.argv[1:]
with open(os.path.join(source, "docs", "pytorch.md"), encoding="utf-8") as f:
    blocks = re.findall(r"```python\n(.*?)```", f.read(), re.S)
program = [b for b in blocks if "annotate(" in b]
reports = [b for b in blocks if "annotate(" not in b]
assert len(program) == 1 and len(reports) == 3, "the page has other examples"
seen = {}
if part == "program":
    trained = []
    seen = {"warpsheet": importlib.import_module("warpsheet"), "evaluate": lambda: None, "loader": range(3),
            "train": trained.append}
    exec(program[0], seen)
    assert seen["tokenize"]("a b") == ["a", "b"] and trained == [0, 1, 2]
else:
    for block in reports:
        needs = re.match(r"import (\w+)", block).group(1)
        if importlib.util.find_spec(needs):
            exec(block, seen)
        else:
            print(f"SKIP: no {needs}: its example was not run")
    assert seen["ops"]["Name"]
