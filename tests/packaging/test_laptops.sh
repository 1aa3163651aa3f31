#!/bin/sh
# The report program for laptops (packaging/laptops.sh): wheels for Windows and macOS and one static program for any Linux, each
# made twice with the same bytes; the back ends `posix` and `plain` on Linux, under the address and undefined-behaviour sanitizers.
# What runs here makes the native program's outputs, byte by byte, and passes the golden cases: Windows' by wine, WebAssembly by Node.
# macOS and Arm are built and not run: what they need of the system is read from their files.
#   test_laptops.sh BUILD SOURCE FOLDER [TARGET...]
# At the end, in FOLDER/table.md: what was built, run and compared.
set -u
build=$1 source=$2 folder=$3
shift 3
here=$source/tests/laptops
work=$(mktemp -d)
trap 'rm -rf "$work"; [ ! -d "$folder/wine" ] || WINEPREFIX=$folder/wine wineserver -k' EXIT
mkdir -p "$folder"
failed=0 left_out=0
[ $# -gt 0 ] || set -- posix plain linux_x86_64 win_amd64 win_arm64 macosx_11_0_arm64 macosx_11_0_x86_64 wasm

fail() {
	echo "FAIL: $*" >&2
	failed=1
}
skip() {
	echo "SKIP: $*" >&2
	left_out=1
}

made() { # made TARGET: twice; 1: it cannot be
	sh "$source/packaging/laptops.sh" "$source" "$folder" "$1" >"$work/log" 2>&1 || {
		if [ $? = 77 ]; then
			skip "$(tail -n 1 "$work/log")"
		else
			fail "$1: $(tail -n 20 "$work/log")"
		fi
		return 1
	}
	mkdir -p "$folder/again"
	for part in tools sources; do
		[ -e "$folder/again/$part" ] || ln -s "../$part" "$folder/again/$part"
	done
	rm -rf "$folder/again/$1" "$folder/again/made"
	CCACHE_DISABLE=1 sh "$source/packaging/laptops.sh" "$source" "$folder/again" "$1" >"$work/log" 2>&1 || fail "$1, again: $(tail -n 20 "$work/log")"
	for file in "$folder"/again/made/*; do
		diff -r "$file" "$folder/made/$(basename "$file")" >/dev/null || fail "$1: $(basename "$file") has other bytes when it is made again"
	done
}
on_linux() { # on_linux SYSTEM: built and its C tests run
	cmake -S "$source" -B "$folder/$1" -G Ninja -DWARPSHEET_SYSTEM="$1" -DWARPSHEET_CUDA=OFF -DWARPSHEET_SANITIZE='address;undefined' >"$work/log" 2>&1
	ninja -C "$folder/$1" -t targets all | sed -n 's/^\(tests\/test_\(formats\|report\)_[a-z_]*\): .*/\1/p' >"$work/tests"
	xargs ninja -C "$folder/$1" warpsheet keeper fake_clock scenario_trace <"$work/tests" >"$work/log" 2>&1 || {
		fail "$1: $(tail -n 20 "$work/log")"
		return 1
	}
	ctest --test-dir "$folder/$1" -j 2 -L '^unit$' -R '^(formats|report)[.]' >"$work/log" 2>&1 || fail "$1: $(sed -n '/tests passed/,$p' "$work/log")"
	echo "$1: $(grep 'tests passed' "$work/log")"
}
costs() { # costs NAME PROGRAM: of the reports of the large traces, as cells; they are the native program's
	for trace in large.wtrace large.json; do
		if ! cost=$(cd "$work/large" && python3 "$here/costs.py" "$2" report $trace -o "$1-$trace.html") ||
			! cmp "$work/large/native-$trace.html" "$work/large/$1-$trace.html"; then
			fail "$1: the report of $trace"
			return 1
		fi
		printf '| %s ' "$cost"
	done
}
compared() { # compared TARGET PROGRAM: named warpsheet, alone in its folder
	sh "$here/outputs.sh" "$2" "$source/fixtures" "$work/outputs" >"$work/log" 2>&1
	sh "$here/same.sh" "$1" "$work/native" "$work/outputs" >"$work/same" || failed=1
	: >"$work/golden"
	for other in record step; do # some cases ask both
		ln -sf "$build/bin/warpsheet-$other" "$(dirname "$2")"
	done
	# commands by the package for Node are compared by test_page.sh
	[ "$1" = wasm ] || sh "$here/golden.sh" "$1" "$(dirname "$2")" "$source" >"$work/golden" || failed=1
	cat "$work/same" "$work/golden"
	cost='| | '
	# sanitizers cost more than the program
	case $1 in posix | plain) ;; *) cost=$(costs "$1" "$2") || failed=1 ;; esac
	row "$1" yes "$(sed -n '1s/.*: \([0-9]* of [0-9]*\).*/\1/p' "$work/same")" "$(sed -n 's/^[^ ]*: \([0-9]* of [0-9]*\) golden.*/\1/p' "$work/golden")" "$cost"
}
row() { # row TARGET RUN SAME GOLDEN COSTS
	[ "$1" = wasm ] && file=warpsheet.html || file="*$1*"
	size=$(find "$folder/made" -maxdepth 1 -name "$file" -printf '%s\n' | head -n 1)
	echo "| $1 | yes | $2 | $3 | $4 | $size ${5:-| | }|" >>"$folder/table.md"
}
program() { # program NAME COMMAND: one called warpsheet, in a folder of its own; prints its path
	mkdir -p "$work/bin/$1"
	printf '#!/bin/sh\n%s "$@"\n' "$2" >"$work/bin/$1/warpsheet"
	chmod 755 "$work/bin/$1/warpsheet"
	echo "$work/bin/$1/warpsheet"
}

# as the preset asan has them: a clock of the tests is loaded first
export ASAN_OPTIONS=allocator_may_return_null=1:verify_asan_link_order=0
sh "$here/outputs.sh" "$build/bin/warpsheet" "$source/fixtures" "$work/native" >"$work/log" 2>&1
mkdir "$work/large"
"$build/tests/bench_trace" 60000 "$work/large/small.wtrace" >/dev/null
"$build/bin/warpsheet" export "$work/large/small.wtrace" -o "$work/large/large.json"
"$build/tests/bench_trace" 2000000 "$work/large/large.wtrace" >/dev/null
{
	echo "| target | built | run | same files | golden cases | size | report of 2.0 M launches | of a JSON of $(($(wc -c <"$work/large/large.json") / 1000000)) MB |"
	echo "|---|---|---|---|---|---|---|---|"
	echo "| native | yes | yes | | | $(wc -c <"$build/bin/warpsheet") $(costs native "$build/bin/warpsheet")|"
} >"$folder/table.md"
for target; do
	case $target in
	posix | plain) on_linux "$target" && compared "$target" "$folder/$target/bin/warpsheet" ;;
	linux_x86_64)
		made "$target" || continue
		mkdir -p "$work/bin/$target"
		cp "$folder/made/warpsheet-$target" "$work/bin/$target/warpsheet"
		compared "$target" "$work/bin/$target/warpsheet"
		;;
	win_amd64)
		made "$target" || continue
		python3 "$here/needs.py" "$folder/$target/build/bin/warpsheet.exe" amd64 || fail "$target"
		if command -v wine >/dev/null; then
			# its server stays up, and says nothing of its own in between; one that crashed begins again, not with the limits of
			# the test that meets it
			export WINEPREFIX="$folder/wine" WINEDEBUG=-all
			mkdir -p "$WINEPREFIX"
			begin='(umask 022; ulimit -f unlimited; wineserver -p) </dev/null >/dev/null 2>&1;'
			eval "$begin" wine wineboot -i >/dev/null 2>&1
			wine reg add 'HKCU\Software\Wine\WineDbg' /v ShowCrashDialog /t REG_DWORD /d 0 /f >/dev/null 2>&1
			windows=$(program "$target" "$begin LC_ALL=C.UTF-8 exec wine '$folder/$target/build/bin/warpsheet.exe'")
			compared "$target" "$windows"
			sh "$here/windows.sh" "$windows" "$source" || fail "$target: names and terminal"
		else
			skip "no wine here: the program for Windows was built, and not run"
			row "$target" no "" ""
		fi
		;;
	win_arm64)
		made "$target" || continue
		python3 "$here/needs.py" "$folder/$target/build/bin/warpsheet.exe" arm64 || fail "$target"
		row "$target" no "" ""
		;;
	macosx_*)
		made "$target" || continue
		python3 "$here/needs.py" "$folder/$target/build/bin/warpsheet" "${target##*11_0_}" || fail "$target"
		row "$target" no "" ""
		;;
	wasm)
		made "$target" || continue
		if command -v node >/dev/null; then
			compared "$target" "$(program "$target" "exec node '$folder/made/npm/cli.js'")"
		else
			skip "no Node here: WebAssembly was built, and not run"
		fi
		;;
	*) fail "no target '$target'" ;;
	esac
done
# pip takes the wheels for these machines
for platform in win_amd64 win_arm64 macosx_11_0_arm64 macosx_12_0_arm64 macosx_11_0_x86_64; do
	ls "$folder"/made/*-"$(echo $platform | sed s/12_0/11_0/)".whl >/dev/null 2>&1 || continue
	"$folder/tools/bin/pip" --disable-pip-version-check download -q --no-index --no-deps --only-binary=:all: --platform $platform -f "$folder/made" -d "$work/wheel" \
		warpsheet >"$work/log" 2>&1 || fail "pip finds no wheel for $platform: $(cat "$work/log")"
done
cat "$folder/table.md"
[ $failed = 0 ] || exit 1
[ $left_out = 0 ] || exit 77
