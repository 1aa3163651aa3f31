#!/bin/sh
# run/setup and run/test, as a newcomer types them, in empty roots of other distributions:
#   distros.sh [DISTRIBUTION...]     of debian-12 debian-13 ubuntu-24.04; all without one
# In each the last commit is built and tested with the distribution's GCC and clang, without the CUDA
# toolkit. Needs root, debootstrap and the network. The roots lie in build/distros and are kept, so
# that packages are fetched once; `rm -rf build/distros` is safe: what is mounted in them is so only
# for the programs in there, which end with this one, however it ends.
# Prints a table as Markdown. Exit status: 0 all passed without a warning, 1 not, 77 no root.
# COMPILERS="gcc clang"  which of them
set -eu
cd "$(dirname "$0")/../.."
. run/steps.sh
. tests/checks/roots.sh
[ "$(id -u)" = 0 ] || {
	echo "distros: left out: only root can make the roots of other systems; sudo run/check distros" >&2
	exit 77
}
folder=$PWD/build/distros
ubuntu_keys=/usr/share/keyrings/ubuntu-archive-keyring.gpg
mkdir -p "$folder"

# made DISTRIBUTION: its root, with nothing but what is essential
made() {
	[ ! -f "$folder/$1/made" ] || return 0
	case $1 in
	debian-12) bootstrap "$1" bookworm ;;
	debian-13) bootstrap "$1" trixie ;;
	ubuntu-24.04)
		# Debian 13 has the keys of Ubuntu as a package
		if [ ! -f "$ubuntu_keys" ]; then
			ubuntu_keys=$folder/debian-13$ubuntu_keys
			made debian-13 || return 1
			inside "$folder/debian-13" sh -c 'apt-get update -qq && apt-get install -y -qq ubuntu-keyring' || return 1
		fi
		bootstrap "$1" noble --keyring="$ubuntu_keys" --components=main,universe
		;;
	*)
		echo "distros: no distribution $1 is known here"
		return 1
		;;
	esac
}

# tested DISTRIBUTION COMPILER: a row of the table in $row
tested() {
	root=$folder/$1 log=$folder/$1-$2.log
	rm -rf "$root/src"
	mkdir -p "$root/src"
	git archive HEAD | tar -x -C "$root/src"
	inside "$root" sh -ec "cd /src; run/setup test
		command -v $2 || apt-get install -y -qq --no-install-recommends $2" >"$log" 2>&1 || {
		tail -n 20 "$log" >&2
		row="packages FAILED: $log"
		return 1
	}
	version=$(inside "$root" "$2" -dumpfullversion -dumpversion | head -n 1)
	inside "$root" CC="$2" PRESET=nocuda sh -c 'cd /src && run/test' 2>&1 | tee "$log" >&2
	counts=$(tail -n 1 "$log" | grep -E '^[0-9]+ passed, ') || counts="FAILED before the tests: $log"
	warnings=$(grep -c 'warning:' "$root/src/build/nocuda.build.log") || warnings=0
	row="$2 $version | $counts | $warnings"
	case $counts/$warnings in *' passed, 0 failed, '*/0) ;; *) return 1 ;; esac
}

[ $# -gt 0 ] || set -- debian-12 debian-13 ubuntu-24.04
table='' bad=0
for distribution in "$@"; do
	made "$distribution" >"$folder/$distribution.log" 2>&1 || {
		tail -n 5 "$folder/$distribution.log" >&2
		table="$table| $distribution | | LEFT OUT: no root can be made: $folder/$distribution.log | |
"
		bad=1
		continue
	}
	for compiler in ${COMPILERS:-gcc clang}; do
		echo "==== $distribution, $compiler" >&2
		tested "$distribution" "$compiler" || bad=1
		table="$table| $distribution | $row |
"
	done
done
printf '| distribution | compiler | tests | warnings |\n|---|---|---|---:|\n%s' "$table"
exit $bad
