#!/bin/sh
# warpsheet-step starts where there is no driver, and is C: step_links.sh PROGRAM
# Fails where it is linked to the driver, to CUPTI or to the C++ runtime.
set -eu
needed=$(readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
[ -n "$needed" ] || {
	echo "$1: readelf lists no library; is it a dynamic program?"
	exit 1
}
if echo "$needed" | grep -E '^lib(cuda|cupti|nvidia-ml|stdc\+\+)\.so'; then
	echo "$1 must not need these"
	exit 1
fi
