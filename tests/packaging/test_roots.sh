#!/bin/sh
# The wheel where nothing of ours ever was: empty roots of Debian 12 and 13 with pip, pipx and the distribution's
# PyTorch (1.13, 2.6). By pip, pipx and uv it records a PyTorch program and makes a workbook. Then the tests of PyTorch.
#   test_roots.sh BUILD SOURCE FOLDER: the wheel lies in FOLDER/wheels; the roots are kept in SOURCE/build/roots
set -eu
source=$2 wheels=$3
folder=$source/build/roots
fail() {
	echo "FAIL: $*" >&2
	exit 1
}
skip() {
	echo "SKIP: $*: no wheel was tried in an empty root"
	exit 77
}
wheel=$(echo "$wheels"/wheels/*_"$(uname -m)".whl)
[ -f "$wheel" ] || skip "no wheel in $wheels"
[ "$(id -u)" = 0 ] || skip "only root makes roots"
command -v debootstrap >/dev/null || skip "no debootstrap"
mkdir -p "$folder"
# shellcheck source=tests/checks/roots.sh
. "$source/tests/checks/roots.sh"

in_root() { # in_root DISTRIBUTION COMMAND...
	distribution=$1
	shift
	inside "$folder/$distribution" "$@" >>"$folder/$distribution.log" 2>&1
}

tried() { # tried DISTRIBUTION SUITE WHAT IS RECORDED PROGRAM...
	distribution=$1 suite=$2 recorded=$3 test=$folder/$1/test
	shift 3
	if [ ! -e "$folder/$distribution/complete" ]; then
		bootstrap "$distribution" "$suite" >"$folder/$distribution.log" 2>&1 || skip "no root of $distribution: $folder/$distribution.log"
		in_root "$distribution" sh -ec 'apt-get -qq update
			DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends python3-pip python3-venv pipx python3-torch' ||
			skip "packages of $distribution: $folder/$distribution.log"
		touch "$folder/$distribution/complete"
	fi
	rm -rf "$test"
	mkdir -p "$test/source"
	cp "$wheel" "$wheels/check/bin/uv" "$test/"
	cp -r "$source/tests" "$test/source/"
	cp "$source/tests/pytorch/small.py" "$test/train.py"
	: >"$folder/$distribution.log"
	# shellcheck disable=SC2016 # for the shells in there
	in_root "$distribution" sh -euc '
		cd /test
		export HOME=/test/home PIPX_HOME=/test/pipx PIPX_BIN_DIR=/test/pipx/bin
		mkdir home
		# as people do who have PyTorch from their distribution
		python3 -m venv --system-site-packages pip
		pip/bin/pip install -q --no-index --no-cache-dir ./*.whl
		./uv tool install -q --offline --python /usr/bin/python3 ./*.whl
		# pipx wants pip anew: the one that the distribution has
		PIP_NO_INDEX=1 PIP_FIND_LINKS=/usr/share/python-wheels pipx install ./*.whl
		for programs in pip/bin home/.local/bin pipx/bin; do
			PATH=$PWD/$programs:/usr/bin:/bin
			rm -f run.wtrace report.xlsx
			warpsheet record --pytorch -o run.wtrace -- python3 train.py && warpsheet report run.wtrace -o report.xlsx
			python3 -m zipfile -t report.xlsx
			warpsheet report run.wtrace --table ops --format csv >ops.csv
			grep -q "^aten::addmm,4," ops.csv
		done
	' || fail "the wheel in $distribution: $(tail -n 20 "$folder/$distribution.log")"
	# shellcheck disable=SC2016 # for the shell in there
	in_root "$distribution" env WS_TORCH_RECORDED="$recorded" sh -euc 'cd /test/source/tests/pytorch
		sh oracle.sh /test/pip/bin "$@"
		[ "$WS_TORCH_RECORDED" != shapes ] || sh recording.sh /test/pip/bin' sh "$@" ||
		fail "PyTorch of $distribution: $(tail -n 20 "$folder/$distribution.log")"
	grep -E '^PyTorch |differences' "$folder/$distribution.log" | sort -u | sed "s/^/$distribution: /"
}

tried debian-13 trixie shapes cnn transformer eager_transformer lstm embedding_bag sparse complex_numbers quantised \
	custom_function corners threads
# It has no C interface to prove anything with, and its profiler, without Kineto, no threads; fused attention came later.
tried debian-12 bookworm "names; inputs not proved" cnn eager_transformer lstm embedding_bag sparse complex_numbers \
	quantised custom_function
