#!/bin/sh
# Fails where a folder includes a header that it must not know (docs/architecture.md):
#   check_layers.sh ROOT
# Prints each offending line. Begins by finding violations that it plants itself.
set -eu

headers() { # headers FOLDER: "file:line:header" of every #include
	grep -rnE '^[[:space:]]*#[[:space:]]*include' "$1" --include='*.[ch]' --include='*.cu' \
		--include='*.cuh' --include='*.def' |
		sed -E 's/^([^:]*:[0-9]+):[[:space:]]*#[[:space:]]*include[[:space:]]*["<]([^">]*)[">].*/\1:\2/'
}

# deny FOLDER HEADERS [FILES]: no include matching HEADERS but in FILES, or of the header ALLOWED
deny() {
	headers "$1" | grep -E ":($2)" | grep -vE "^(${3:-nothing}):" || :
}

check() { # in the current folder
	deny formats 'recorder/|kernels/|report/|tests/|cuda|cupti|nvtx|nvToolsExt|xlsxwriter'
	deny formats 'zstd' 'formats/zframe\.c'
	deny formats 'xxhash' 'formats/checksum\.c'
	deny kernels 'recorder/|report/|tests/|cupti|xlsxwriter|zstd|xxhash'
	# kernels know nothing of traces: of formats/ only how errors are told
	deny kernels 'formats/' | grep -vE ':formats/(status|banned)\.h$' || :
	deny recorder 'report/|tests/|xlsxwriter|zstd|xxhash'
	# of kernels/ only the public annotation header and the binary interface of NVTX
	deny recorder 'kernels/' | grep -vE ':kernels/(warpsheet_nvtx|nvtx_abi)\.h$' || :
	deny recorder 'cupti' 'recorder/(collect/cupti_source|cupti_decode)\.c'
	# what runs inside the traced program encodes and writes nothing
	deny recorder/collect 'formats/' | grep -vE ':formats/(status|banned)\.h$' || :
	deny report 'recorder/|kernels/|tests/|cuda|cupti|nvToolsExt|zstd|xxhash'
	deny report 'xlsxwriter' 'report/out_xlsx[a-z_]*\.[ch]'
	deny report 'sys/ioctl|termios|curses' 'report/ui\.c'
	# a table's writers see tables, never traces
	headers report | grep -E '^report/(out_[a-z_]*|display|table)\.[ch]:' |
		grep -E ':(report/(model|analysis|columns|tables)\.h|formats/(trace|schema|block))' || :
}

self_test() {
	plant=$(mktemp -d)
	trap 'rm -rf "$plant"' EXIT
	mkdir -p "$plant/formats" "$plant/kernels" "$plant/recorder/collect" "$plant/report"
	planted=0
	while read -r file header; do
		printf '# include "%s"\n' "$header" >>"$plant/$file"
		planted=$((planted + 1))
	done <<-'EOF'
		formats/a.c report/table.h
		formats/a.c zstd.h
		formats/a.h xxhash.h
		kernels/a.cu formats/block.h
		kernels/a.c recorder/ring.h
		recorder/a.c zstd.h
		recorder/a.c kernels/op.h
		recorder/a.c cupti.h
		recorder/collect/a.c formats/trace_writer.h
		report/a.c xlsxwriter.h
		report/a.c kernels/warpsheet_nvtx.h
		report/a.c termios.h
		report/out_a.c report/model.h
	EOF
	found=$(cd "$plant" && check | sort -u | wc -l)
	[ "$found" -eq $planted ] || {
		echo "self-test: found $found of $planted planted violations"
		exit 1
	}
}

cd "$1"
self_test
found=$(check)
[ -z "$found" ] || {
	echo "$found"
	exit 1
}
