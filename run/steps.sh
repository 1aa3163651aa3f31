# shellcheck shell=sh
# Steps that several commands share; read by them, not run.
jobs=$(nproc)
# tests wait for programs, threads and files as often as they compute
# shellcheck disable=SC2034 # of those who read this file
test_jobs=$((2 * jobs))
# what people build: with the CUDA toolkit where it is installed
# shellcheck disable=SC2034 # of those who read this file
preset=${PRESET:-dev}

# With few words while all goes well. WS_WERROR=ON: every warning is an error, whichever the compiler.
configure_preset() {
	echo "== $1: configure" >&2
	mkdir -p build
	if ! cmake --preset "$1" ${WS_WERROR:+-DWARPSHEET_WERROR=$WS_WERROR} >"build/$1.log" 2>&1; then
		cat "build/$1.log" >&2
		return 1
	fi
	sed -n '/^-- Warpsheet /,$p' "build/$1.log"
}

build_preset() {
	configure_preset "$1"
	echo "== $1: build" >&2
	cmake --build --preset "$1" -j "$jobs"
}
