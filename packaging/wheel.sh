#!/bin/sh
# A wheel for pip, pipx and uv: wheel.sh BUILD SOURCE VERSION PROGRAM RECORDER OUT. PROGRAM and RECORDER have
# their libraries in them; the module of workbooks finds its own beside it.
set -eu
build=$1 source=$2 version=$3 program=$4 recorder=$5 out=$6
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/bin" "$work/lib/warpsheet"
cp "$program" "$work/bin/warpsheet"
cp "$recorder" "$work/bin/warpsheet-record"
cp -r "$build"/bin/*.so "$build/bin/python" "$work/lib/warpsheet/"
for module in "$work"/lib/warpsheet/warpsheet-*.so; do
	ldd "$module" | sed -n 's/^.* => \(\/[^ ]*\) (.*/\1/p' | grep -v '/lib\(c\|m\|dl\|pthread\|rt\)\.so' |
		while read -r library; do
			cp -L "$library" "$work/lib/warpsheet/$(basename "$library")"
		done
done
"${STRIP:-strip}" --strip-unneeded "$work"/bin/* "$work"/lib/warpsheet/*.so*
python3 "$source/packaging/wheel.py" "$version" "$source" "$work" "$out"
