#!/bin/sh
# Compiles products and tests of every preset with GCC and with clang, and searches for warnings:
#   compilers.sh [PRESET...]
# Folders: build/compilers/PRESET-COMPILER, with the log beside. CC_LIST="gcc-14 clang-19" has other
# compilers. Ends with 1 where a warning, an error or no compiler at all was found.
set -eu
cd "$(dirname "$0")/../.."
. run/steps.sh
[ $# -gt 0 ] || set -- release demo dev nocuda coverage asan tsan fuzz
mkdir -p build/compilers
table='' bad=0

# one PRESET COMPILER: a row of the table
one() {
	folder=build/compilers/$1-$2
	echo "== $1 with $2" >&2
	cmake --preset "$1" -B "$folder" -DCMAKE_C_COMPILER="$2" -DWARPSHEET_WERROR=OFF >"$folder.log" 2>&1 || {
		tail -n 20 "$folder.log" >&2
		result="configure FAILED: $folder.log"
		return 1
	}
	# from scratch: of a file that is compiled already no warning would be seen
	cmake --build "$folder" --target clean >/dev/null || {
		result="clean FAILED"
		return 1
	}
	counted "$folder.log" cmake --build "$folder" -j "$jobs" -- -k 0 || {
		grep -A 5 '^FAILED:' "$folder.log" | cut -c 1-300 | head -n 30 >&2
		result="build FAILED: $folder.log"
		return 1
	}
	if warnings=$(grep 'warning:' "$folder.log"); then
		printf '%s\n' "$warnings" | sort | uniq -c >&2
		result="$(printf '%s\n' "$warnings" | wc -l) warnings: $folder.log"
		return 1
	fi
	result="no warning"
	rm -rf "$folder"
}

for preset in "$@"; do
	for compiler in ${CC_LIST:-gcc clang}; do
		case $preset-$compiler in fuzz*-gcc*) continue ;; esac # clang's libFuzzer
		if command -v "$compiler" >/dev/null 2>&1; then
			one "$preset" "$compiler" || bad=1
		else
			result="LEFT OUT: no $compiler; run/setup check installs clang"
			bad=1
		fi
		table="$table| $preset | $compiler $("$compiler" -dumpfullversion -dumpversion 2>/dev/null | head -n 1) | $result |
"
	done
done
printf '| preset | compiler | |\n|---|---|---|\n%s' "$table"
exit $bad
