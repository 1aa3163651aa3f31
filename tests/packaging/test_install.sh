#!/bin/sh
# What `cmake --install` gives: a program that annotates with the header alone, found by pkg-config
# and by CMake, in C99 and C++11; completions of bash, zsh and fish.
#   test_install.sh BUILD
set -eu
build=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bad=0
problem() {
	echo "FAIL: $*"
	bad=1
}
expect() { # expect WHAT WANTED GOT: a word among others
	case " $3 " in
	*" $2 "*) ;;
	*) problem "$1: no '$2' in '$3'" ;;
	esac
}

cmake --install "$build" --prefix "$work/root" >"$work/log"
# elsewhere than where it was installed
mv "$work/root" "$work/moved"
root=$work/moved

# --- the header -----------------------------------------------------------------------------------
cat >"$work/main.c" <<'EOF'
#include <warpsheet_nvtx.h>
void other(void);
int main(void)
{
	wsnvtx_push("outer");
	other();
	wsnvtx_pop();
	return !wsnvtx_attached();
}
EOF
cat >"$work/other.c" <<'EOF'
#include <warpsheet_nvtx.h>
void other(void);
void other(void)
{
	wsnvtx_push("inner");
	wsnvtx_pop();
}
EOF
cp "$work/main.c" "$work/main.cc"
cp "$work/other.c" "$work/other.cc"
flags=$(PKG_CONFIG_PATH=$root/share/pkgconfig pkg-config --cflags --libs warpsheet-nvtx)
recorded() { # recorded NAME: two ranges of one module come out of program NAME
	"$root/bin/warpsheet-record" -o "$work/$1.wtrace" -- "$work/$1" 2>"$work/$1.log" ||
		problem "$1: not recorded: $(cat "$work/$1.log")"
	expect "$1" "2 ranges," "$(cat "$work/$1.log")"
	"$root/bin/warpsheet" info "$work/$1.wtrace" | grep -q 'collector.modules *1$' ||
		problem "$1: its files attached one by one"
}
# shellcheck disable=SC2086 # words on purpose
if cc -std=c99 -Wall -Wextra -pedantic -Werror -o "$work/in_c" "$work/main.c" "$work/other.c" $flags; then
	recorded in_c
else
	problem "pkg-config: C99 does not compile"
fi
if command -v g++ >/dev/null; then
	# shellcheck disable=SC2086
	if g++ -std=c++11 -Wall -Wextra -Wpedantic -Werror -o "$work/in_cxx" "$work/main.cc" "$work/other.cc" $flags; then
		recorded in_cxx
	else
		problem "pkg-config: C++11 does not compile"
	fi
else
	echo "SKIP: no g++: C++ was not tried"
fi
cat >"$work/CMakeLists.txt" <<'EOF'
cmake_minimum_required(VERSION 3.16)
project(annotated C)
find_package(warpsheet-nvtx 0.1 REQUIRED)
add_executable(by_cmake main.c other.c)
target_link_libraries(by_cmake PRIVATE warpsheet::nvtx)
EOF
if cmake -S "$work" -B "$work/b" -DCMAKE_PREFIX_PATH="$root" >"$work/log" 2>&1 &&
	cmake --build "$work/b" >>"$work/log" 2>&1; then
	cp "$work/b/by_cmake" "$work/by_cmake"
	recorded by_cmake
else
	problem "CMake package: $(tail -5 "$work/log")"
fi

# --- completions ----------------------------------------------------------------------------------
in_bash() { # in_bash WORD...: what bash offers for the last word
	bash -c '. "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _warpsheet "$1"; echo ${COMPREPLY[*]}' \
		"$root/share/bash-completion/completions/warpsheet" "$@"
}
expect "bash: commands" report "$(in_bash warpsheet re)"
expect "bash: options" --table "$(in_bash warpsheet report --t)"
expect "bash: values" json "$(in_bash warpsheet report --format '')"
expect "bash: tables" kernel-summary "$(in_bash warpsheet report --table kernel-s)"
expect "bash: --table=" kernel-summary "$(in_bash warpsheet report --table = kernel-s)"
expect "bash: --table=, no letter yet" kernel-summary "$(in_bash warpsheet report --table =)"
expect "bash: help" export "$(in_bash warpsheet help ex)"
expect "bash: record has the recorder's options and the model's" "--salvage" "$(in_bash warpsheet record --sa)"
expect "bash: record has the recorder's options and the model's" "--batch" "$(in_bash warpsheet record --ba)"
expect "bash: warpsheet-step" "--batch" "$(in_bash warpsheet-step --ba)"
[ "$(in_bash warpsheet info --zz)" = "" ] || problem "bash offers what there is not"
# every option of every command
for command in $("$root/bin/warpsheet" help | sed -nE 's/^  ([a-z][a-z-]*) +.*/\1/p'); do
	[ "$command" = record ] || [ "$command" = help ] && continue
	for option in $("$root/bin/warpsheet" "$command" --help |
		sed -nE 's/^  (-[[:alnum:]], |    )(--[a-z-]+).*/\2/p'); do
		expect "bash: $command" "$option" "$(in_bash warpsheet "$command" "$option")"
	done
done
if command -v zsh >/dev/null; then
	zsh -n "$root/share/zsh/vendor-completions/_warpsheet" || problem "zsh does not read its completions"
	in_zsh() { # in_zsh WORD...: what zsh offers for the last word, before it compares letters
		zsh -fc 'compadd() { [[ $1 = -- ]] && shift; print -- "$@" }; _files() { print files }; compset() { : }
			words=("$@"); CURRENT=$#; service=$1
			. "$0"' "$root/share/zsh/vendor-completions/_warpsheet" "$@"
	}
	expect "zsh: values" json "$(in_zsh warpsheet report --format '')"
	expect "zsh: --table=" kernel-summary "$(in_zsh warpsheet report --table=ker)"
	expect "zsh: help" export "$(in_zsh warpsheet help ex)"
else
	echo "SKIP: no zsh: its completions were not tried"
fi
if command -v fish >/dev/null; then
	offered=$(HOME=$work fish -c "source $root/share/fish/vendor_completions.d/warpsheet.fish
		complete -C 'warpsheet report --format '; complete -C 'warpsheet im'
		complete -C 'warpsheet report --table=ker'; complete -C 'warpsheet help ex'" | cut -f1 | tr '\n' ' ')
	expect "fish: values" csv "$offered"
	expect "fish: --table=" --table=kernel-summary "$offered"
	expect "fish: help" export "$offered"
	expect "fish: commands" import "$offered"
else
	echo "SKIP: no fish: its completions were not tried"
fi
exit $bad
