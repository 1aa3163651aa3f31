#!/bin/sh
# The report program for laptops: laptops.sh SOURCE FOLDER [TARGET...]. In FOLDER lie tools, sources of libraries and build
# folders; what is made in FOLDER/made. Targets, all unless some are named: win_amd64, win_arm64, macosx_11_0_arm64, macosx_11_0_x86_64 (wheels for
# pip), linux_x86_64 (one static program), wasm (for a page and for Node). run/check laptops tests them. The compiler is zig's, as the package index has it;
# the libraries are compiled from Debian's source packages. The system stays as it is; the same bytes each time.
# Exit status: 77 where there is no Debian, package index or network.
# shellcheck disable=SC2086,SC2016,SC1091 # lists of words on purpose; names of another shell, or of the system
set -eu
source=$(cd "$1" && pwd)
mkdir -p "$2"
folder=$(cd "$2" && pwd)
shift 2
[ $# -gt 0 ] || set -- win_amd64 win_arm64 macosx_11_0_arm64 macosx_11_0_x86_64 linux_x86_64 wasm

missing() {
	echo "laptops: left out: $*" >&2
	exit 77
}

# --- tools and sources --------------------------------------------------------------------------
packages="libzstd zlib sqlite3 libxlsxwriter xxhash libiberty tre protobuf-c"
has() { # has STAMP: what it stands for was made of these packages
	[ "$(cat "$1" 2>/dev/null)" = "$packages" ]
}
sources() { # unpacked in FOLDER/sources
	! has "$folder/sources/made" || return 0
	list=/etc/apt/sources.list.d/debian.sources
	[ -f $list ] || missing "this is no Debian with $list"
	{ command -v tclsh && command -v dpkg-source; } >/dev/null ||
		missing "tcl and dpkg-dev are needed ('run/setup laptops' installs them)"
	rm -rf "$folder/sources"
	mkdir -p "$folder/apt/parts" "$folder/apt/lists/partial" "$folder/apt/cache" "$folder/sources/packages"
	sed 's/^Types: deb$/Types: deb-src/' $list >"$folder/apt/parts/debian.sources"
	apt="apt-get -qq -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts=$folder/apt/parts -o APT::Sandbox::User=root
		-o Dir::State::lists=$folder/apt/lists -o Dir::Cache=$folder/apt/cache"
	$apt update || missing "Debian's packages are not reached"
	(
		cd "$folder/sources/packages"
		for library in $packages; do
			# an archive may list a security update before it has it
			$apt source --download-only "$library" 2>"$folder/apt/error" ||
				$apt source --download-only "$library/$(. /etc/os-release && echo "$VERSION_CODENAME")" || {
				cat "$folder/apt/error" >&2
				missing "the source of $library is not reached"
			}
			# with Debian's patches
			dpkg-source --no-check -x "${library}"_*.dsc "../$library" >/dev/null
		done
		cd ../sqlite3
		./configure --disable-tcl >/dev/null
		make sqlite3.c >/dev/null
	)
	# the head of a .gz file names no system
	sed -i 's/\(define OS_CODE  *\)[0-9x]*/\13/' "$folder/sources/zlib/zutil.h"
	# regular expressions: of bytes, not letters of the user's language, and exact
	rm "$folder/sources/tre/lib/tre-match-approx.c"
	printf '#define HAVE_SYS_TYPES_H 1\n#define TRE_REGEX_T_FIELD value\n#define TRE_VERSION "0.8.0"\n' >"$folder/sources/tre/lib/tre-config.h"
	: >"$folder/sources/tre/lib/config.h"
	echo "$packages" >"$folder/sources/made"
}
tools() {
	[ ! -e "$folder/tools/made" ] || return 0
	rm -rf "$folder/tools"
	python3 -m venv "$folder/tools"
	"$folder/tools/bin/pip" install -q ziglang==0.17.1 || missing "pip has no ziglang here"
	touch "$folder/tools/made"
}

# --- one target ---------------------------------------------------------------------------------
describe() { # of a target: what zig and CMake call it, its back end, options to compile and to link
	system=plain options="" link="" executable=warpsheet
	case $1 in
	win_amd64) triple=x86_64-windows-gnu cmake=Windows ;;
	win_arm64) triple=aarch64-windows-gnu cmake=Windows ;;
	macosx_11_0_arm64) triple=aarch64-macos.11.0 cmake=Darwin ;;
	macosx_11_0_x86_64) triple=x86_64-macos.11.0 cmake=Darwin ;;
	linux_x86_64) triple=x86_64-linux-musl cmake=Linux system=linux ;;
	wasm) triple=wasm32-wasi cmake=WASI ;;
	*)
		echo "laptops: no target '$1'" >&2
		exit 2
		;;
	esac
	case $cmake in
	Windows) executable=warpsheet.exe ;;
	Darwin) system=posix options=-Dfdopen=fdopen ;;
	Linux) link=-static ;;
	WASI)
		options="-D_WASI_EMULATED_SIGNAL -D_WASI_EMULATED_PROCESS_CLOCKS -D_WASI_EMULATED_GETPID"
		link="-lwasi-emulated-signal -lwasi-emulated-process-clocks -lwasi-emulated-getpid -Wl,-z,stack-size=8388608"
		;;
	esac
	options="$options -O2 -g0 -fno-sanitize=undefined -DNDEBUG -DHAVE_UNISTD_H"
}
compiler() { # programs as CMake wants them, in FOLDER/TARGET/tools
	mkdir -p "$folder/$1/tools"
	for tool in cc ar ranlib rc; do
		given=
		[ $tool != cc ] || given="-target $triple $options"
		printf '#!/bin/sh\nexec "%s" -m ziglang %s %s "$@"\n' "$folder/tools/bin/python" "$tool" "$given" >"$folder/$1/tools/$tool"
		chmod 755 "$folder/$1/tools/$tool"
	done
}
archive() { # archive TARGET NAME OPTIONS FILES...: NAME of these files of FOLDER/sources
	root=$folder/$1/root objects=$folder/$1/objects/$2 name=$2 flags=$3
	shift 3
	mkdir -p "$objects"
	for file; do
		echo "$file"
	done | xargs -P "$(nproc)" -I FILE sh -c '"$1/cc" $2 -w -c "$4" -o "$3/$(echo "$4" | tr / _).o"' sh "$tools" "$flags" "$objects" FILE
	"$tools/ar" rcsD "$root/lib/lib$name.a" "$objects"/*.o
}
libraries() { # in FOLDER/TARGET/root
	root=$folder/$1/root tools=$folder/$1/tools
	! has "$root/made" || return 0
	rm -rf "$root" "$folder/$1/objects"
	mkdir -p "$root/lib/pkgconfig" "$root/include"
	(
		cd "$folder/sources"
		archive "$1" zstd "-DZSTD_DISABLE_ASM=1 -DXXH_NAMESPACE=ZSTD_" libzstd/lib/common/*.c libzstd/lib/compress/*.c libzstd/lib/decompress/*.c
		archive "$1" z "" zlib/adler32.c zlib/compress.c zlib/crc32.c zlib/deflate.c zlib/gz*.c zlib/inf*.c zlib/trees.c zlib/uncompr.c zlib/zutil.c
		sqlite="-DSQLITE_THREADSAFE=2"
		[ "$cmake" != WASI ] || sqlite="-DSQLITE_OS_OTHER=1 -DSQLITE_THREADSAFE=0"
		archive "$1" sqlite3 "-DSQLITE_OMIT_LOAD_EXTENSION -DSQLITE_ALLOW_ROWID_IN_VIEW -DSQLITE_ENABLE_MATH_FUNCTIONS -DSQLITE_SECURE_DELETE $sqlite" sqlite3/sqlite3.c
		temporary=libxlsxwriter/third_party/tmpfileplus/tmpfileplus.c
		[ "$cmake" != WASI ] || temporary=
		minizip=libxlsxwriter/third_party/minizip
		archive "$1" xlsxwriter "-Ilibxlsxwriter/include -I$minizip -Izlib -DNOCRYPT -DNOUNCRYPT -DUSE_NO_MD5" libxlsxwriter/src/*.c \
			$minizip/zip.c $minizip/ioapi.c $temporary
		archive "$1" iberty "-Ilibiberty/include -DHAVE_STDLIB_H -DHAVE_STRING_H -DIN_LIBGCC2_" libiberty/libiberty/cp-demangle.c
		archive "$1" tre "-DHAVE_CONFIG_H -Itre/lib" tre/lib/reg*.c tre/lib/tre-*.c
		archive "$1" protobuf-c "-Iprotobuf-c" protobuf-c/protobuf-c/protobuf-c.c
		mkdir "$root/include/libiberty" "$root/include/tre" "$root/include/protobuf-c"
		cp tre/lib/regex.h tre/lib/tre.h tre/lib/tre-config.h "$root/include/tre/"
		cp libiberty/include/*.h "$root/include/libiberty/"
		cp protobuf-c/protobuf-c/protobuf-c.h "$root/include/protobuf-c/"
		cp -r libzstd/lib/zstd.h libzstd/lib/zstd_errors.h zlib/zlib.h zlib/zconf.h sqlite3/sqlite3.h xxhash/xxhash.h libxlsxwriter/include/* "$root/include/"
	)
	for library in zstd z sqlite3 xlsxwriter protobuf-c; do
		case $library in
		zstd | protobuf-c) name=lib$library ;;
		z) name=zlib ;;
		*) name=$library ;;
		esac
		printf 'Name: %s\nDescription: %s\nVersion: 9\nCflags: -I%s/include\nLibs: -L%s/lib -l%s\n' $name $name "$root" "$root" $library \
			>"$root/lib/pkgconfig/$name.pc"
	done
	printf 'Name: xxhash\nDescription: xxhash\nVersion: 9\nCflags: -I%s/include -DXXH_INLINE_ALL\n' "$root" >"$root/lib/pkgconfig/libxxhash.pc"
	sed -i 's/-lxlsxwriter$/-lxlsxwriter -lz/' "$root/lib/pkgconfig/xlsxwriter.pc"
	echo "$packages" >"$root/made"
}
program() {
	root=$folder/$1/root tools=$folder/$1/tools
	export PKG_CONFIG_LIBDIR="$root/lib/pkgconfig" PKG_CONFIG_PATH=
	relative=$(realpath --relative-to="$folder/$1/build" "$source")
	cmake -S "$source" -B "$folder/$1/build" -G Ninja -DCMAKE_BUILD_TYPE=None -DWARPSHEET_SYSTEM="$system" -DWARPSHEET_LINKED=ON \
		-DWARPSHEET_TESTS=OFF -DWARPSHEET_CUDA=OFF -DCMAKE_SYSTEM_NAME="$cmake" -DCMAKE_SYSTEM_PROCESSOR="${triple%%-*}" \
		-DCMAKE_C_COMPILER="$tools/cc" -DCMAKE_AR="$tools/ar" -DCMAKE_RANLIB="$tools/ranlib" -DCMAKE_RC_COMPILER="$tools/rc" -DCMAKE_C_COMPILER_WORKS=1 \
		-DCMAKE_HAVE_LIBC_PTHREAD=1 -DLIBIBERTY_INCLUDE_DIR="$root/include" -DLIBIBERTY_LIBRARY="$root/lib/libiberty.a" \
		-DTRE_INCLUDE_DIR="$root/include" -DTRE_LIBRARY="$root/lib/libtre.a" \
		-DCMAKE_C_FLAGS="-ffile-prefix-map=$source=. -ffile-prefix-map=$relative=." -DCMAKE_EXE_LINKER_FLAGS="-s $link" \
		-DCMAKE_SKIP_RPATH=ON -DCMAKE_SUPPRESS_DEVELOPER_WARNINGS=1 >"$folder/$1/configure.log" 2>&1 || {
		tail -20 "$folder/$1/configure.log" >&2
		exit 1
	}
	cmake --build "$folder/$1/build" --target warpsheet -- -k 0 >"$folder/$1/build.log" 2>&1 || {
		grep -E 'error|undefined' -A3 "$folder/$1/build.log" | head -60 >&2
		exit 1
	}
}

wheel() { # wheel TARGET PROGRAM
	rm -rf "$folder/$1/installed"
	mkdir -p "$folder/$1/installed/bin" "$folder/$1/installed/lib/warpsheet"
	cp "$2" "$folder/$1/installed/bin/"
	version=$(sed -n 's/^project(warpsheet VERSION \([0-9.]*\).*/\1/p' "$source/CMakeLists.txt")
	python3 "$source/packaging/wheel.py" "$version" "$source" "$folder/$1/installed" "$folder/made" "$1"
}

sources
tools
mkdir -p "$folder/made"
for target; do
	describe "$target"
	compiler "$target"
	libraries "$target"
	program "$target"
	made=$folder/$target/build/bin/$executable
	case $target in
	win_* | macosx_*) wheel "$target" "$made" ;;
	wasm) python3 "$source/packaging/page/assemble.py" "$source/packaging/page" "$made" "$folder/made" ;;
	*) cp "$made" "$folder/made/warpsheet-$target" ;;
	esac
done
