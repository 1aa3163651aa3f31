#!/bin/sh
# Wheels for both architectures, for any Linux with glibc 2.28: wheels.sh SOURCE FOLDER [x86_64|aarch64|tests...]. In
# FOLDER lie tools, packages and build folders; the wheels in FOLDER/wheels. `tests`: the C tests of formats and report,
# for AArch64, from the object files of its wheel, in FOLDER/aarch64/build/tests. The compiler is zig's, as the package index
# has it: it links for an older glibc and another machine. Libraries are archives of Debian's packages for that
# machine; of libxlsxwriter it has none, so that is compiled from its source package. The system stays as it is.
# Exit status: 77 where there is no Debian, package index or network.
set -eu
source=$(cd "$1" && pwd)
mkdir -p "$2"
folder=$(cd "$2" && pwd)
shift 2
glibc=2.28 # what PyTorch's own wheels ask for
sources=/etc/apt/sources.list.d/debian.sources

missing() {
	echo "wheels: left out: $*" >&2
	exit 77
}
[ -f $sources ] || missing "this is no Debian with $sources"

# --- tools --------------------------------------------------------------------------------------
if [ ! -e "$folder/tools/made" ]; then
	rm -rf "$folder/tools"
	python3 -m venv "$folder/tools"
	"$folder/tools/bin/pip" install -q ziglang==0.17.1 || missing "pip has no ziglang here"
	touch "$folder/tools/made"
fi
compiler() { # compiler MACHINE: programs as CMake wants them, in FOLDER/MACHINE/tools
	mkdir -p "$folder/$1/tools"
	for tool in cc ar ranlib; do
		options=
		[ $tool != cc ] || options="-target $1-linux-gnu.$glibc -fno-sanitize=undefined -g0"
		printf '#!/bin/sh\nexec "%s" -m ziglang %s %s "$@"\n' "$folder/tools/bin/python" "$tool" "$options" >"$folder/$1/tools/$tool.new"
		chmod 755 "$folder/$1/tools/$tool.new"
		# as it was, so that what was compiled by it counts as new
		cmp -s "$folder/$1/tools/$tool.new" "$folder/$1/tools/$tool" || cp "$folder/$1/tools/$tool.new" "$folder/$1/tools/$tool"
	done
}

# --- libraries ----------------------------------------------------------------------------------
own_apt() { # with lists and architectures of its own, and nothing installed
	apt-get -qq -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts="$folder/apt/parts" -o APT::Sandbox::User=root \
		-o Dir::State::lists="$folder/apt/lists" -o Dir::Cache="$folder/apt/cache" -o Dir::State::status="$folder/apt/status" \
		-o APT::Architectures::=amd64 -o APT::Architectures::=arm64 "$@"
}
libraries() { # libraries MACHINE DEBIAN'S NAME OF IT: packages unpacked in FOLDER/MACHINE/root
	root=$folder/$1/root
	[ ! -e "$root/made" ] || return 0
	mkdir -p "$folder/apt/parts" "$folder/apt/lists/partial" "$folder/apt/cache/archives/partial"
	sed 's/^Types: deb$/Types: deb deb-src/' $sources >"$folder/apt/parts/debian.sources"
	: >"$folder/apt/status"
	own_apt update || missing "Debian's packages are not reached"
	rm -rf "$root"
	mkdir -p "$root/packages"
	(
		cd "$root/packages"
		own_apt download "libzstd-dev:$2" "libsqlite3-dev:$2" "zlib1g-dev:$2" "libiberty-dev:$2" "libxxhash-dev:$2" \
			"libxlsxwriter-dev:$2" "libtre-dev:$2" "libprotobuf-c-dev:$2"
		own_apt source --download-only libxlsxwriter zlib
		for package in *.deb; do
			dpkg-deb -x "$package" "$root"
		done
		for library in libxlsxwriter zlib; do
			mkdir $library
			tar -C $library --strip-components=1 -xf ${library}_*.orig.tar.*
		done
		cd libxlsxwriter
		# with all that it needs, as Debian's archives are for no module
		for file in src/*.c third_party/md5/md5.c third_party/tmpfileplus/tmpfileplus.c third_party/minizip/zip.c \
			third_party/minizip/ioapi.c ../zlib/adler32.c ../zlib/crc32.c ../zlib/deflate.c ../zlib/trees.c ../zlib/zutil.c; do
			"$folder/$1/tools/cc" -O2 -fPIC -Iinclude -Ithird_party/minizip -I../zlib -DNOCRYPT -DNOUNCRYPT \
				-ffile-prefix-map="$root/packages=." -c "$file" -o "$(basename "$file" .c).o"
		done
		"$folder/$1/tools/ar" rcsD "$root/usr/lib/$1-linux-gnu/libxlsxwriter.a" ./*.o
	)
	# shellcheck disable=SC2016 # of pkg-config
	sed -i 's/^Libs:.*/Libs: -L${libdir} -lxlsxwriter/' "$root/usr/lib/$1-linux-gnu/pkgconfig/xlsxwriter.pc"
	# archives alone are there to link with
	find "$root" \( -name '*.so' -o -name '*.so.*' \) -exec rm -f {} +
	touch "$root/made"
}

criterion() { # the library of C tests, and in FOLDER/aarch64/system what programs of AArch64 load
	root=$folder/aarch64/root system=$folder/aarch64/system
	[ ! -e "$system/made" ] || return 0
	own_apt install -y --download-only --no-install-recommends libcriterion3:arm64 || missing "Debian's packages are not reached"
	rm -rf "$system"
	for package in "$folder"/apt/cache/archives/*_arm64.deb; do
		dpkg-deb -x "$package" "$system"
	done
	(cd "$root/packages" && own_apt download libcriterion-dev:arm64)
	dpkg-deb -x "$root"/packages/libcriterion-dev_*.deb "$root"
	cp -a "$system"/usr/lib/aarch64-linux-gnu/libcriterion.so.* "$root/usr/lib/aarch64-linux-gnu/"
	sed -i '/^Requires.private/d' "$root/usr/lib/aarch64-linux-gnu/pkgconfig/criterion.pc"
	touch "$system/made"
}

# --- wheels -------------------------------------------------------------------------------------
configured() { # configured MACHINE [OPTION...]
	machine=$1 root=$folder/$1/root tools=$folder/$1/tools
	shift
	export PKG_CONFIG_SYSROOT_DIR="$root" PKG_CONFIG_LIBDIR="$root/usr/lib/$machine-linux-gnu/pkgconfig:$root/usr/share/pkgconfig"
	# zig names a source as it lies from the build folder
	relative=$(realpath --relative-to="$folder/$machine/build" "$source")
	cmake --fresh -S "$source" -B "$folder/$machine/build" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DWARPSHEET_TESTS=OFF \
		-DWARPSHEET_CUDA=OFF -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR="$machine" -DCMAKE_C_COMPILER="$tools/cc" \
		-DCMAKE_AR="$tools/ar" -DCMAKE_RANLIB="$tools/ranlib" -DCMAKE_FIND_ROOT_PATH="$root" \
		-DCMAKE_LIBRARY_ARCHITECTURE="$machine-linux-gnu" \
		-DCMAKE_FIND_ROOT_PATH_MODE_LIBRARY=ONLY -DCMAKE_FIND_ROOT_PATH_MODE_INCLUDE=ONLY \
		-DCMAKE_C_FLAGS="-ffile-prefix-map=$source=. -ffile-prefix-map=$relative=." -DCMAKE_EXE_LINKER_FLAGS=-s -DCMAKE_SHARED_LINKER_FLAGS=-s \
		-DCMAKE_MODULE_LINKER_FLAGS=-s -DCMAKE_SKIP_RPATH=ON "$@"
}
[ $# -gt 0 ] || set -- x86_64 aarch64
for machine; do
	case $machine in
	x86_64) debian=amd64 ;;
	aarch64) debian=arm64 ;;
	tests)
		compiler aarch64
		libraries aarch64 arm64
		criterion
		# the linker drops Criterion's list of tests, which nothing names
		configured aarch64 -DWARPSHEET_TESTS=ON -DCMAKE_EXE_LINKER_FLAGS="-s -Wl,--no-gc-sections"
		programs=$(ninja -C "$folder/aarch64/build" -t targets all | sed -n 's/^\(tests\/test_\(formats\|report\)_[a-z_]*\): .*/\1/p')
		# shellcheck disable=SC2086 # a list of words on purpose
		ninja -C "$folder/aarch64/build" tests/keeper $programs
		continue
		;;
	*) missing "$machine: x86_64, aarch64 and tests are known" ;;
	esac
	compiler "$machine"
	libraries "$machine" "$debian"
	configured "$machine"
	rm -f "$folder/$machine"/build/packages/*.whl
	STRIP=true cmake --build "$folder/$machine/build" --target wheel
	mkdir -p "$folder/wheels"
	cp "$folder/$machine"/build/packages/*.whl "$folder/wheels/"
done
