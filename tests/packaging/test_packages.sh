#!/bin/sh
# The packages, each in an empty root: from unpacking to the first report of an imported trace in
# less than 30 s of processor time; what each package says it needs is enough.
#   test_packages.sh BUILD TARBALL IMPORT
# Needs a user namespace or root for the roots: skips visibly (77) where there is none.
set -eu
PATH=$PATH:/usr/sbin:/sbin # chroot lies where a normal user's PATH does not lead
build=$1 tarball=$2 import=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bad=0
problem() {
	echo "FAIL: $*"
	bad=1
}
user=-r
[ "$(id -u)" != 0 ] || user=
inside() { # inside ROOT COMMAND...: with that root, /proc and 30 s of processor time
	in=$1
	shift
	mkdir -p "$in/proc"
	# shellcheck disable=SC2086,SC3045 # no word where none is needed; every shell has -t
	(
		ulimit -t 30
		exec env -i PATH=/usr/bin HOME=/ unshare $user -m -p -f --mount-proc="$in/proc" \
			"$(command -v chroot)" "$in" "$@"
	)
}
# shellcheck disable=SC2086
if ! unshare $user -m -p -f true 2>/dev/null; then
	echo "SKIP: neither root nor user namespaces: no empty root can be made"
	exit 77
fi
first_report() { # first_report ROOT WARPSHEET
	cp "$import" "$1/trace.json.gz"
	inside "$1" "$2" import trace.json.gz -o first.wtrace || problem "$2 does not import"
	inside "$1" "$2" report first.wtrace --table kernel-summary --format csv >"$work/csv" || true
	[ "$(wc -l <"$work/csv")" -gt 1 ] || problem "$2 has no report"
	inside "$1" "$2" report first.wtrace -o first.xlsx || problem "$2 makes no workbook"
}

# --- the tarball: nothing else is there -------------------------------------------------------------
mkdir "$work/empty"
tar -C "$work/empty" -xzf "$tarball"
place=$(cd "$work/empty" && echo warpsheet-*)
first_report "$work/empty" "/$place/bin/warpsheet"
mkdir "$work/empty/elsewhere"
mv "$work/empty/$place" "$work/empty/elsewhere/ws"
ln -s elsewhere/ws/bin/warpsheet "$work/empty/link"
inside "$work/empty" /link version | grep -q '^warpsheet' || problem "a link to the moved tarball does not start"

# of other projects' libraries only those of workbooks are shared: Debian has no archive of libxlsxwriter
parts=$work/empty/elsewhere/ws/lib/warpsheet
needed() { readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'; }
for library in $(needed "$parts/warpsheet"); do
	case $library in
	libc.so.6 | libm.so.6 | libdl.so.2 | libpthread.so.0 | ld-linux-*) ;;
	*) problem "the tarball's program needs $library" ;;
	esac
done
# it runs with a machine's own glibc, too, wherever it lies: the module finds its libraries beside it
root=$work/glibc
mkdir -p "$root/lib64" "$root/anywhere"
for library in "$parts"/*.so*; do
	case ${library##*/} in
	libc.so* | libm.so* | libdl.so* | libpthread.so* | libresolv.so*) cp "$library" "$root/lib64" ;;
	ld.so) cp "$library" "$root/lib64/ld-linux-x86-64.so.2" ;;
	*) cp "$library" "$root/anywhere" ;;
	esac
done
cp "$parts/warpsheet" "$root/anywhere"
ln -s lib64 "$root/lib"
first_report "$root" /anywhere/warpsheet

# --- Debian packages ----------------------------------------------------------------------------------
if ! command -v dpkg-shlibdeps >/dev/null; then
	echo "SKIP: no dpkg-shlibdeps (package dpkg-dev): the .deb were not made"
	exit $bad
fi
cpack --config "$build/CPackConfig.cmake" -B "$work/packages" >"$work/log" 2>&1 || {
	cat "$work/log"
	exit 1
}
# what Debian asks of a package, its remarks on style apart
if command -v lintian >/dev/null; then
	lintian --allow-root --fail-on error,warning "$work"/packages/*.deb || problem "lintian has errors or warnings"
else
	echo "SKIP: no lintian: the packages were not held to Debian's rules"
fi
libraries() { # libraries ROOT PACKAGE: what a package depends on, and that alone, with glibc
	dpkg-deb -f "$2" Depends | tr ',' '\n' | sed 's/ *(.*//; s/|.*//' | while read -r package; do
		apt-cache depends --recurse --no-recommends --no-suggests --no-conflicts --no-breaks \
			--no-replaces --no-enhances "$package" 2>/dev/null | sed -n 's/^\([a-z].*\)$/\1/p'
	done | sed 's/:.*//' | sort -u | while read -r package; do
		dpkg -L "$package" 2>/dev/null || dpkg -L "$package:amd64" 2>/dev/null || true
	done | grep -E '/(ld-linux[^/]*|lib[^/]*)\.so[.0-9]*$' | sort -u | while read -r library; do
		[ -f "$library" ] || continue
		mkdir -p "$1$(dirname "$library")"
		cp -L "$library" "$1$library"
		# where Debian's alternatives would put a link to it, as of libopenblas
		link=${library%/*/*}/${library##*/}
		[ ! -L "$link" ] || cp -L "$link" "$1$link"
	done
}
for package in warpsheet warpsheet-recorder; do
	deb=$(echo "$work/packages/${package}"_[0-9]*.deb)
	root=$work/$package
	mkdir -p "$root"
	# on today's Debian /lib is a part of /usr
	mkdir -p "$root/usr/lib" "$root/usr/lib64"
	ln -s usr/lib "$root/lib"
	ln -s usr/lib64 "$root/lib64"
	dpkg-deb -x "$deb" "$root"
	libraries "$root" "$deb"
	[ -e "$root/lib64/ld-linux-x86-64.so.2" ] || cp -L /lib64/ld-linux-x86-64.so.2 "$root/usr/lib64/" 2>/dev/null || true
	if [ $package = warpsheet ]; then
		first_report "$root" /usr/bin/warpsheet
		[ -f "$root/usr/share/man/man1/warpsheet-report.1.gz" ] || problem "no man page"
	else
		for program in warpsheet-record warpsheet-step; do
			nvidia=$(needed "$root/usr/bin/$program" | grep -E '^lib(cudart|cublas|cublasLt|cudnn)\.so' || true)
			if [ -z "$nvidia" ]; then
				inside "$root" "/usr/bin/$program" --version >/dev/null || problem "$program does not start"
				continue
			fi
			# they are the GPU machine's own, no package has them: with empty ones nothing else is missing
			for library in $nvidia; do
				echo 'extern int nothing;' | cc -shared -x c - -o "$root/usr/lib/$library"
			done
			inside "$root" /lib64/ld-linux-x86-64.so.2 --list "/usr/bin/$program" >/dev/null ||
				problem "$program lacks a library that its package does not name"
			echo "$program was not started: it needs the CUDA toolkit's $(echo "$nvidia" | tr '\n' ' ')"
		done
		[ -f "$root/usr/lib/warpsheet/libwarpsheet-collect.so" ] || problem "no collector"
		[ -f "$root/usr/include/warpsheet/warpsheet_nvtx.h" ] || problem "no header"
	fi
done
exit $bad
