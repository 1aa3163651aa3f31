#!/bin/sh
# A C program that embeds Python is recorded as Python is: operations with FLOPs, modules, steps. embedded.sh BIN
set -eu
# shellcheck source=tests/pytorch/common.sh
. "$(dirname "$0")/common.sh"

library=$("$python" -c 'import sysconfig; print(*map(sysconfig.get_config_var, ("LIBDIR", "INSTSONAME")), sep="/")')
if [ ! -f "$library" ]; then
	echo "SKIP: $python has no shared libpython"
	exit 77
fi
cat >embed.c <<'C'
/* in place of Python.h, which a machine may lack */
void Py_Initialize(void);
int PyRun_SimpleString(const char *code);
int Py_FinalizeEx(void);

int main(void)
{
	Py_Initialize();
	int failed = PyRun_SimpleString("exec(open('small.py').read())");

	return Py_FinalizeEx() || failed;
}
C
cc -o embed embed.c "$library" -Wl,-rpath,"$(dirname "$library")"
packages=$("$python" -c 'import os, torch; print(os.path.dirname(os.path.dirname(torch.__file__)))')
PYTHONPATH=$packages "$ws" record --pytorch -o t.wtrace -- ./embed >log 2>&1 || {
	cat log
	fail "the program that embeds Python"
}
contains log "PyTorch "
is_small t.wtrace
table t.wtrace ranges
contains t.wtrace.ranges.csv "0 (Linear)"
table t.wtrace steps
equal "steps, to the end of the optimizer's" "$(grep -c '^[0-9]*,no,' t.wtrace.steps.csv)" 2
