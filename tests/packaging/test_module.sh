#!/bin/sh
# The module warpsheet of packaging/python beside the programs of the build, and the example notebook, executed where
# nbconvert is: test_module.sh BIN SOURCE.
set -eu
# shellcheck source=tests/e2e/common.sh
. "$(dirname "$0")/../e2e/common.sh"

export PATH="$1:$PATH"
module=$work/module
mkdir "$module"
cp -R "$2/packaging/python/warpsheet" "$module/"
export PYTHONPATH="$module"
cd "$work"
python3 "$2/tests/packaging/module.py" "$2/fixtures" || fail "the module"

python=${WARPSHEET_TEST_NOTEBOOK:-python3}
if ! "$python" -c 'import nbconvert, ipykernel' 2>/dev/null; then
	echo "SKIP: no nbconvert and ipykernel in $python: the notebook was not executed"
	exit 77
fi
cp "$2/docs/notebook.ipynb" .
cp "$2/fixtures/traces/step-fp32.wtrace" fp32.wtrace
cp "$2/fixtures/traces/step-bf16.wtrace" bf16.wtrace
"$python" -m nbconvert --to html --execute notebook.ipynb >convert.log 2>&1 || { cat convert.log; fail "the notebook"; }
contains notebook.html "Step Statistics"
contains notebook.html "iframe"
contains notebook.html "Grade"
