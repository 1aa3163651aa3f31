# shellcheck shell=sh
# Steps that several commands share; read by them, not run. They say what they do on stderr; what
# compilers and tests print goes to build/*.log.
jobs=$(nproc)
# tests wait for programs, threads and files as often as they compute
# shellcheck disable=SC2034 # of those who read this file
test_jobs=$((2 * jobs))
# what people build: with the CUDA toolkit where it is installed
# shellcheck disable=SC2034 # of those who read this file
preset=${PRESET:-dev}

# say TEXT: a stage begins, so many seconds after the command
started=$(date +%s)
say() { echo "== $(($(date +%s) - started)) s: $*" >&2; }

# shown TEXT: on the line that counts, which the next one takes; without a terminal, a line of its own
shown() {
	if [ -t 2 ] && [ "${TERM:-dumb}" != dumb ]; then
		printf '\r\033[K   %s' "$1" >&2
	else
		echo "   $1" >&2
	fi
}

# counted LOG COMMAND...: runs it with its output in LOG. What ninja and ctest count is shown as it
# grows, without a terminal every ten seconds, and a test that fails at once. Returns its exit status.
counted() {
	log=$1
	shift
	{
		status=0
		"$@" 2>&1 || status=$?
		echo "== exit status $status"
	} | {
		began=$(date +%s) last=0 at='' status=1
		[ -t 2 ] && every=1 || every=10
		exec 3>"$log"
		while IFS= read -r line; do
			case $line in
			'['[0-9]*/[0-9]*'] '*) at=${line%%]*} at=${at#?} ;;
			*[0-9]/[0-9]*' Test '*'#'*': '*)
				at=${line%% Test *} at=${at##* }
				case $line in
				*'***Skipped'* | *'(Disabled)'*) ;;
				*'***'*)
					failed=${line#*#*: }
					[ ! -t 2 ] || printf '\r\033[K' >&2
					echo "   failed: ${failed%% *}" >&2
					;;
				esac
				;;
			'== exit status '*)
				status=${line##* }
				continue
				;;
			*)
				printf '%s\n' "$line" >&3
				continue
				;;
			esac
			printf '%s\n' "$line" >&3
			now=$(($(date +%s) - began))
			if [ $((now - last)) -ge "$every" ]; then
				shown "$at, $now s"
				last=$now
			fi
		done
		shown "${at:-done}, $(($(date +%s) - began)) s"
		[ ! -t 2 ] || echo >&2
		return "$status"
	}
}

# With few words while all goes well. WS_WERROR=ON: every warning is an error, whichever the compiler.
configure_preset() {
	say "configure $1"
	mkdir -p build
	# shellcheck disable=SC2086 # words on purpose
	if ! cmake --preset "$@" ${WS_WERROR:+-DWARPSHEET_WERROR=$WS_WERROR} >"build/$1.configure.log" 2>&1; then
		cat "build/$1.configure.log" >&2
		return 1
	fi
}

# build_only PRESET: of a build preset whose folder is configured
build_only() {
	say "build $1, on $jobs cores"
	log=build/$1.build.log
	if ! counted "$log" cmake --build --preset "$1" -j "$jobs"; then
		# from the first that failed, without the long lines that say how it was compiled
		sed -n '/^FAILED:/,$p' "$log" | sed '/^FAILED:/{n;d;}' | head -n 60 >&2
		grep -q '^FAILED:' "$log" || tail -n 40 "$log" >&2
		echo "build: $1 failed; all of it: $log" >&2
		return 1
	fi
	warnings=$(grep -c 'warning:' "$log") || return 0
	echo "   $warnings warnings, in $log" >&2
}

build_preset() {
	configure_preset "$1" || return 1 # a caller that asks for the status would go on
	sed -n '/^-- Warpsheet /,/^-- $/s/^-- \(.\)/   \1/p' "build/$1.configure.log" >&2
	build_only "$1"
}

# test_preset PRESET [OPTION...]: options for ctest; the command for another time is in $again. With
# WS_RESULTS=FOLDER the results are kept there, too, for the summary of several runs.
test_preset() {
	name=$1
	shift
	say "test $name"
	rm -f "build/$name.junit.xml"
	status=0
	counted "build/$name.test.log" ctest --preset "$name" -j "$test_jobs" --no-tests=error "$@" \
		--output-junit "$PWD/build/$name.junit.xml" --test-output-size-passed 65536 || status=$?
	python3 run/summary.py "build/$name.junit.xml" "build/$name.test.log" "${again:-ctest --preset $name}" || status=1
	if [ -n "${WS_RESULTS:-}" ]; then
		mkdir -p "$WS_RESULTS" && cp "build/$name.junit.xml" "$WS_RESULTS/$name.$(date +%s).xml" || status=1
	fi
	return $status
}

# environment NAME ARGUMENT...: an environment of Python with what `pip install ARGUMENT...` gives, in
# build/NAME, where it stays; prints its Python. Fails with a line where pip has it not.
environment() {
	name=$1
	shift
	if [ "$(cat "build/$name/made" 2>/dev/null)" != "$*" ]; then
		rm -rf "build/$name"
		mkdir -p build
		if ! { python3 -m venv "build/$name" &&
			timeout 900 "build/$name/bin/pip" --disable-pip-version-check install -q --no-compile --retries 2 --timeout 30 "$@" &&
			echo "$*" >"build/$name/made"; } >"build/$name.log" 2>&1; then
			rm -rf "build/$name"
			echo "$name: left out: pip has no $* here; what it says: build/$name.log" >&2
			return 1
		fi
	fi
	echo "$PWD/build/$name/bin/python"
}

# The build for CPUs alone: that for CUDA has gigabytes.
torch_environment() { environment torch torch==2.13.0+cpu numpy nvtx; }
