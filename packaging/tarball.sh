#!/bin/sh
# warpsheet with everything it needs, down to the loader: unpack it anywhere.
#   tarball.sh BUILD START PROGRAM TARBALL
set -eu
build=$1 start=$2 program=$3 tarball=$4
name=$(basename "$tarball" .tar.gz)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/$name

DESTDIR="" cmake --install "$build" --component warpsheet --prefix "$root" >/dev/null
mkdir -p "$root/lib/warpsheet" "$(dirname "$tarball")"
cp "$program" "$root/lib/warpsheet/warpsheet"
cp "$start" "$root/bin/warpsheet"
ldd "$root"/lib/warpsheet/warpsheet* | sed -n 's/^.* => \(\/[^ ]*\) (.*/\1/p' | sort -u |
	while read -r library; do
		cp -L "$library" "$root/lib/warpsheet/$(basename "$library")"
	done
cp -L "$(ldd "$root/lib/warpsheet/warpsheet" | sed -n 's/^[ 	]*\(\/[^ ]*ld-linux[^ ]*\) .*/\1/p')" \
	"$root/lib/warpsheet/ld.so"
strip --strip-unneeded "$root"/bin/* "$root"/lib/warpsheet/lib* "$root"/lib/warpsheet/warpsheet*
# the same bytes each time
tar -C "$work" --sort=name --owner=0 --group=0 --mtime=@0 -cf - "$name" | gzip -9n >"$tarball"
echo "$tarball"
