#!/bin/sh
# The start-up file that --pytorch puts before the user's leaves every Python as it would be, Python 2 too, and needs no
# PyTorch: start_file.sh BIN
set -eu
# shellcheck source=tests/e2e/common.sh
. "$(dirname "$0")/../e2e/common.sh"
bin=$(cd "$1" && pwd)
ws=$bin/warpsheet
cd "$work"

# Python 2 reads the file as well: nothing in it may be newer. It has no f-strings, annotations, nonlocal, …
cat >old.py <<'PY'
import ast
import sys

new = ("JoinedStr", "AnnAssign", "Nonlocal", "NamedExpr", "YieldFrom", "AsyncFunctionDef", "Await", "MatMult", "Match")
for node in ast.walk(ast.parse(open(sys.argv[1]).read())):
    arguments = isinstance(node, ast.arguments) and (node.kwonlyargs or any(a.annotation for a in node.args))
    if type(node).__name__ in new or arguments or (isinstance(node, ast.Raise) and node.cause) or \
            (isinstance(node, ast.ClassDef) and node.keywords) or (isinstance(node, ast.FunctionDef) and node.returns):
        sys.exit("Python 2 does not know %s in line %s" % (type(node).__name__, getattr(node, "lineno", "?")))
PY
python3 old.py "$bin/python/sitecustomize.py" || fail "the file is no Python 2"

mkdir user
cat >user/sitecustomize.py <<'PY'
value = 41


def use():  # Python 2 empties the globals of a module that is gone
    return value + 1
PY
cat >program.py <<'PY'
import sys
import sitecustomize
print("%d %s" % (sitecustomize.use(), sitecustomize.__file__.replace(".pyc", ".py")))
print([p for p in sys.path if p.endswith("/bin/python") or p.endswith("warpsheet/python")])
PY
tried=0
for python in python2.7 python2 "$HOME"/.pyenv/versions/2.7*/bin/python python3; do
	"$python" -c 'pass' 2>/dev/null || continue
	"$python" -c 'import sys; sys.exit(sys.version_info[0] > 2)' && tried=1
	PYTHONPATH=$work/user "$python" program.py >alone 2>&1 || fail "$python alone: $(cat alone)"
	PYTHONPATH=$work/user "$ws" record --pytorch -o t.wtrace -- "$python" program.py >out 2>log || fail "$python: $(cat out log)"
	cmp -s alone out || fail "$python: $(cat alone out)"
	! grep -q "import sitecustomize" log || fail "$python: $(cat log)"
	# without one of the user's the program starts in silence, too
	"$ws" record --pytorch -o t.wtrace -- "$python" -c 'print("on")' >out 2>log || fail "$python without: $(cat out log)"
	! grep -q "sitecustomize" log || fail "$python without: $(cat log)"
done
# a program that does nothing loads no more modules than alone: each costs all that start
python3 -c 'import sys; print(len(sys.modules))' >alone
"$ws" record --pytorch -o t.wtrace -- python3 -c 'import sys; print(len(sys.modules))' >out 2>log
[ "$(cat out)" -le $(($(cat alone) + 1)) ] || fail "our file loads modules: $(cat alone out)"
# and opens no file but the user's: what hooks PyTorch is read once a program imports that
mkdir -p fake/torch
echo 'imported = True' >fake/torch/__init__.py
cat >opened.py <<'PY'
import os
import sys

ours, opened = sys.argv[1], []
compiled = compile(open(ours).read(), ours, "exec")
sys.addaudithook(lambda event, args: opened.append(str(args[0])) if event == "open" else None)
exec(compiled, {"__file__": ours, "__name__": "sitecustomize"})
at_start = [os.path.basename(path) for path in opened]
import torch
print(torch.imported, [name for name in at_start if "sitecustomize" not in name],
      "torch_modules.py" in map(os.path.basename, opened))
PY
WARPSHEET_PYTORCH=shapes PYTHONPATH=$work/fake python3 -B opened.py "$bin/python/sitecustomize.py" >out
equal "files that our file opens" "$(cat out)" "True [] True"
if [ $tried = 0 ]; then
	echo "SKIP: no Python 2 was run here"
	exit 77
fi
