#!/bin/sh
# banned.sh ROOT BUILD: what the house forbids and a compiler cannot see everywhere.
#   - every C file of ours is compiled with formats/base/banned.h in front
#   - printing and exiting only in command files
#   - no function that changes the locale of numbers, none that waits for nobody
#   - files and folders are made, renamed and removed in a folder that is open, not by their path
#   - what differs between systems is in formats/base/system, and numbers do not
#   - one sort, which keeps the order of equals
#   - one idiom for arrays that grow, one for a lack of memory (memory.h), one for headers
# Begins by finding violations that it plants itself.
set -eu
root=$1 build=$2
bad=0

# files that may print or end the program: mains and commands
may_print='^(formats/base/memory|report/commands/[a-z_]*|report/base/ui|recorder/launch/(main|ctl|notice)|kernels/run/main)\.c:'
# arrays grow by WS_GROW, which calls memory.c; files of systems have no allowance to ask, and do it by hand
may_grow='^formats/base/(memory|system/[a-z_]*)\.c:'
# Installed, and read by programs with compilers of their own: they have guards.
may_guard='^kernels/nvtx/(abi|client|warpsheet_nvtx)\.h$'
# a child after fork that could not exec, and a signal's handler
may_exit='^(formats/trace/reader|recorder/launch/(child|series)|formats/base/system/unix)\.c:.*_exit\('

# The room that opens a folder once and goes on from there; docs/dev/guarantees.md, 1
may_make='^formats/base/system/|^formats/base/(own_file|outfile)\.c:'
# word that takes no descriptor, into a folder of the user's alone
may_make="$may_make|^recorder/shared/segment_file\.c:.*mknod\("

code() { # lines of code, without those that are comments
	grep -rnE "$1" formats kernels recorder report --include='*.[ch]' --include='*.cu' \
		--include='*.cuh' | grep -vE '^[^:]*:[0-9]+:[[:space:]]*(/?\*|//)' || :
}

check() { # in the current folder
	code '(^|[^[:alnum:]_])(v?printf|puts|putchar|perror)\(' | grep -vE "$may_print" || :
	code '(^|[^[:alnum:]_/])(stdout|stderr)([^[:alnum:]_]|$)' |
		grep -vE '/\*.*(stdout|stderr)' | grep -vE "$may_print" || :
	code '(^|[^[:alnum:]_])(_?exit|quick_exit|abort)\(' | grep -vE "$may_print|$may_exit" || :
	code '(^|[^[:alnum:]_])(strcpy|strcat|sprintf|vsprintf|gets|strtok|ato[ilf]|atoll)\('
	code '(^|[^[:alnum:]_])(setlocale|system|popen)\('
	code '(^|[^[:alnum:]_])qsort(_r)?\(' | grep -E '^(formats|report)/' | grep -v '^formats/base/system/' || :
	code '(^|[^[:alnum:]_])(realloc|reallocarray)\(' | grep -vE "$may_grow" || :
	code '(^|[^[:alnum:]_>.])(mkdir|rmdir|unlink|rename|remove|symlink|mknod|mkfifo|truncate|chmod|chown|creat|mkstemps?|mkostemps?|mkdtemp|tmpfile|tmpnam|tempnam)\(' |
		grep -vE "$may_make" || :
	code '(mkdir|mknod|open|rename|unlink|symlink|link)at2?\(AT_FDCWD' | grep -vE "$may_make" || :
	code '(^|[^[:alnum:]_])open\(.*O_CREAT' | grep -vE "$may_make" || :
	code 'fopen\([^"]*"[^"]*[wa+]' | grep -vE "$may_make" || :
	code 'no_memory\(struct ws_err'
	# what differs between systems is in one room (docs/dev/portability.md); the recorder is for Linux
	code '^[[:space:]]*#.*(__linux__|__APPLE__|_WIN32|__wasi__|WS_SYSTEM_)|/proc/self/(fd/%|exe)' |
		grep -vE '^(formats/base/system|recorder)/' || :
	# their last digit differs between C libraries; ours is the same everywhere (report/base/elementary.h)
	code '(^|[^[:alnum:]_])(exp2?|expm1|log(2|10|1p)?|pow|lgamma(_r)?|tgamma|erfc?|cbrt|a?(sin|cos|tan)h?|atan2|hypot)\(' |
		grep -E '^(formats|report)/' | grep -v '/\*.*(' || :
	grep -rL '^#pragma once' formats kernels recorder report --include='*.h' --include='*.cuh' |
		grep -vE "$may_guard" || :
}

self_test() {
	plant=$(mktemp -d)
	trap 'rm -rf "$plant"' EXIT
	mkdir -p "$plant/formats" "$plant/kernels" "$plant/recorder" "$plant/report"
	cat >"$plant/report/a.c" <<-'EOF'
		printf("x");
		fputs("x", stderr);
		exit(1);
		strcpy(a, b);
		setlocale(LC_ALL, "");
		p = realloc(p, n);
		static enum ws_status no_memory(struct ws_err *err)
		#ifdef __linux__
		snprintf(a, n, "/proc/self/fd/%d", fd);
		unlink(path);
		renameat(AT_FDCWD, a, folder, b);
		fd = open(path, O_WRONLY | O_CREAT, 0666);
		f = fopen(path, "we");
		/* printf("a comment"); */
		unlinkat(folder, name, 0); f = fopen(path, "re"); p->unlink(a); fd = open(path, O_RDONLY);
		snprintf(a, n, "x"); fprintf(f, "x"); p->exit_code = 1;
		x = log(y);
		qsort(a, n, sizeof(*a), f);
		x = ws_log(y) + sqrt(y);
	EOF
	echo 'abort();' >"$plant/kernels/a.cu"
	echo '#ifndef A_H' >"$plant/recorder/a.h"
	found=$(cd "$plant" && check | wc -l)
	[ "$found" -eq 17 ] || {
		echo "self-test: found $found of 17 planted violations"
		exit 1
	}
}

cd "$root"
self_test
found=$(check)
[ -z "$found" ] || {
	echo "$found"
	bad=1
}

# one entry a line pair: "command": "...", "file": "..."
if ! grep -q '"file"' "$build/compile_commands.json"; then
	echo "no compile_commands.json in $build"
	exit 1
fi
ours=$(pwd)
awk -v root="$ours/" '
	/"command":/ { command = $0 }
	/"file":/ {
		file = $0
		sub(/.*"file": *"/, "", file); sub(/".*/, "", file)
		# generated code is not ours
		if (index(file, root) == 1 && file ~ /\.c$/ && file !~ /\.pb-c\.c$/ && command !~ /-include .*banned\.h/) {
			print "compiled without formats/base/banned.h: " substr(file, length(root) + 1)
			bad = 1
		}
	}
	END { exit bad }' "$build/compile_commands.json" || bad=1
exit $bad
