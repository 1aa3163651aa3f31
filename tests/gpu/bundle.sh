#!/bin/sh
# Build and pack what a sitting needs, and try it in an empty root:
#   bundle.sh OUT [BUILD]
# OUT: folder that is made: bin/, tests/, lib/, gpu/ (scripts), and OUT.tar.gz beside it. BUILD: a
# build folder with CUDA to pack as it is; without one it is built here, for sm_90 alone, in
# build/bundle. Programs are stripped; lib/ has what they link but glibc, libstdc++ and NVIDIA's.
# The check: in a root of nothing but glibc and the bundle, with the CUDA of tests/stub_cuda in
# NVIDIA's place, every program starts. Ends with 1 when one does not, or when the bundle is too
# large or needs a newer glibc than 2.34.
set -eu
# chroot and ldconfig lie where a normal user's PATH does not lead
PATH=$PATH:/usr/sbin:/sbin

[ $# -ge 1 ] || {
	sed -n '2,11s/^# \{0,1\}//p' "$0"
	exit 2
}
command -v patchelf >/dev/null || {
	echo "bundle.sh: no patchelf; run/setup test installs it" >&2
	exit 5
}
source=$(cd "$(dirname "$0")/../.." && pwd)
out=$1
build=${2-}
if [ -z "$build" ]; then
	build=$source/build/bundle
	cmake -S "$source" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DWARPSHEET_CUDA=ON \
		-DWARPSHEET_CUDA_ARCHITECTURES=90-real -DWARPSHEET_CUDA_HOST=OFF
	cmake --build "$build" --target warpsheet warpsheet-record warpsheet-step warpsheet-collect \
		gpu_launches gpu_bench gpu_device stub_cuda
fi
[ -e "$out" ] && {
	echo "bundle.sh: $out is there already" >&2
	exit 1
}

# --- packing ----------------------------------------------------------------------------------

mkdir -p "$out/bin" "$out/tests" "$out/lib" "$out/gpu"
for program in warpsheet warpsheet-xlsx.so warpsheet-record warpsheet-step libwarpsheet-collect.so; do
	cp "$build/bin/$program" "$out/bin/"
done
cp -r "$build/bin/python" "$out/python"
cp "$build"/tests/gpu_launches "$build"/tests/gpu_bench "$build"/tests/gpu_device "$out/tests/"
cp "$source"/tests/gpu/*.sh "$source"/tests/gpu/*.py "$source"/tests/pytorch/*.py "$out/gpu/"

# What is linked, but glibc's, the compiler's that every machine has, and NVIDIA's.
ldd "$out"/bin/* "$out"/tests/* | sed -n 's/^.* => \(\/[^ ]*\) (.*/\1/p' | sort -u |
	grep -v -E '/(libc|libm|libdl|librt|libpthread|libresolv|ld-linux[^/]*|libstdc\+\+|libgcc_s)\.so|/libcu(da|dart|blas|blasLt|dnn)[^/]*\.so' |
	while read -r library; do
		cp -L "$library" "$out/lib/$(basename "$library")"
	done
strip --strip-unneeded "$out"/bin/* "$out"/tests/* "$out"/lib/*
# They find lib/ by themselves: in LD_LIBRARY_PATH it would give others our libraries, too.
# shellcheck disable=SC2016 # the loader's variable
patchelf --set-rpath '$ORIGIN/../lib' "$out"/bin/* "$out"/tests/*
# shellcheck disable=SC2016
patchelf --set-rpath '$ORIGIN' "$out"/lib/*
mv "$out/python" "$out/bin/" # the collector looks for it beside itself
tar -C "$out" -czf "$out.tar.gz" .

# --- checks -----------------------------------------------------------------------------------

problems=0
problem() {
	echo "bundle.sh: $*" >&2
	problems=1
}

size=$(wc -c <"$out.tar.gz")
[ "$size" -lt 30000000 ] || problem "$out.tar.gz has $size bytes; 30,000,000 is the most"
newest=$(for file in "$out"/bin/* "$out"/tests/* "$out"/lib/*; do objdump -T "$file" 2>/dev/null; done |
	grep -o 'GLIBC_[0-9.]*' | sort -Vu | tail -1)
[ "$(printf '%s\nGLIBC_2.34\n' "$newest" | sort -V | tail -1)" = GLIBC_2.34 ] ||
	problem "a program needs $newest; 2.34 is the newest that all machines have"

# A root with glibc, the bundle, the stub in NVIDIA's place, and nothing else.
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
mkdir -p "$root/lib64" "$root/glibc" "$root/cuda" "$root/proc" "$root/tmp" "$root/dev"
cp -L "$(ldd "$out/bin/warpsheet" | sed -n 's/^[ 	]*\(\/[^ ]*ld-linux[^ ]*\) .*/\1/p')" "$root/lib64/"
for library in libc.so.6 libm.so.6 libdl.so.2 librt.so.1 libpthread.so.0 libresolv.so.2 libgcc_s.so.1 libstdc++.so.6; do
	path=$(ldconfig -p 2>/dev/null | sed -n "s/^[ 	]*$library .*x86-64.* => //p" | head -1)
	[ -z "$path" ] || cp -L "$path" "$root/glibc/"
done
cp "$build"/tests/stub_cuda/lib* "$root/cuda/"
cp -r "$out" "$root/bundle"
inside() {
	set -- chroot "$root" "$@"
	[ "$(id -u)" = 0 ] || set -- unshare -r "$@"
	# without /proc the loader does not know where a program lies
	env -i LD_ORIGIN_PATH=/bundle/bin LD_LIBRARY_PATH=/cuda:/glibc HOME=/ PATH="$PATH" "$@"
}
for program in warpsheet warpsheet-record warpsheet-step; do
	inside "/bundle/bin/$program" --version >/dev/null || problem "$program does not start in an empty root"
done
inside /bundle/bin/warpsheet-step --device cuda --model mlp --steps 1 2>/dev/null ||
	problem "warpsheet-step does not run in an empty root"
inside /bundle/tests/gpu_bench ceilings >/dev/null || problem "gpu_bench does not run in an empty root"
inside /bundle/tests/gpu_launches driver 100 exit /tmp/tally || problem "gpu_launches does not run in an empty root"
inside /bundle/tests/gpu_device --list >/dev/null || problem "gpu_device does not start in an empty root"
[ $problems -eq 0 ] || exit 1
echo "$out.tar.gz: $size bytes, needs $newest, every program starts in an empty root"
