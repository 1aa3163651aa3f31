#!/bin/sh
# A PyTorch without the functions that the recorder needs: names alone, or nothing, told once; the program goes on
# as it would. And one whose other symbols were stripped: all is recorded. hidden.sh BIN
set -eu
# shellcheck source=tests/pytorch/common.sh
. "$(dirname "$0")/common.sh"

# As if this one had been compiled with hidden visibility. A tail call, so that the caller stays who it was.
cat >hide.c <<'C'
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
static void *nothing(void *handle, const char *name)
{
	return handle && name ? 0 : 0;
}
void *dlsym(void *handle, const char *name)
{
	static void *(*next)(void *, const char *);

	if (!next)
		next = dlvsym(RTLD_NEXT, "dlsym", VERSION);
	return (strcmp(getenv("HIDDEN"), name) ? next : nothing)(handle, name);
}
C
case $(uname -m) in
x86_64) version=GLIBC_2.2.5 ;;
*) version=GLIBC_2.17 ;;
esac
cc -D_GNU_SOURCE -DVERSION="\"$version\"" -O2 -foptimize-sibling-calls -shared -fPIC -o hide.so hide.c

recorded() { # recorded LIBRARIES HIDDEN WHAT
	HIDDEN=$2 LD_PRELOAD=$1 "$ws" record --pytorch -o t.wtrace -- "$python" small.py >log 2>&1 || fail "without $2: $(cat log)"
	contains log "PyTorch "
	"$ws" check t.wtrace >damage || fail "without $2: $(cat damage)"
	"$ws" info t.wtrace >facts
	got=$(sed -n 's/^ *pytorch.operations  *//p' facts)
	equal "without $2 what is recorded" "$got" "$3"
}
losses() { grep -c pytorch_without_shapes log || true; }

recorded "" none shapes
equal "lines on losses" "$(losses)" 0
is_small t.wtrace
for name in aoti_torch_empty_strided aoti_torch_copy_ aoti_torch_get_sizes aoti_torch_get_strides \
	aoti_torch_delete_tensor_object _ZNK2at14RecordFunction10num_inputsEv _ZN2at14removeCallbackEm \
	_ZN3c108toStringENS_11DispatchKeyE _ZNK3c106IValue12isTensorListEv; do
	recorded "$work/hide.so" $name "names; inputs not proved"
	equal "lines on losses without $name" "$(losses)" 1
	table t.wtrace ops
	equal "FLOPs without $name" "$(csv_cell t.wtrace.ops.csv FLOPs Name=aten::addmm)" ""
done
for name in _ZN2at15sequence_number4peekEv _ZN3c1019UndefinedTensorImpl10_singletonE; do # of links alone; of tensors that are none
	recorded "$work/hide.so" $name shapes
	is_small t.wtrace
done
recorded "$work/hide.so" _ZNK2at14RecordFunction4nameEv "none; functions not found"
contains log "--pytorch recorded no operation"
recorded "$work/hide.so" _ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE ""
contains log "--pytorch recorded no operation"

# PyTorch's library as strip leaves it
torch=$("$python" -c 'import os, torch; print(os.path.dirname(torch.__file__))')
mkdir packages
cp -as "$torch" packages/
for library in "$torch"/lib/libtorch_cpu.so "$torch"/lib/libc10.so "$torch"/lib/libtorch_python.so "$torch"/_C.*.so; do
	to=packages${library#"${torch%/torch}"}
	strip --strip-all -o "$to.stripped" "$library"
	mv "$to.stripped" "$to"
done
echo 'print("libraries", *{line.split()[-1] for line in open("/proc/self/maps") if "libtorch_cpu" in line})' >>small.py
PYTHONPATH=$work/packages recorded "" none shapes
contains log "libraries $work/packages/torch/lib/libtorch_cpu.so"
is_small t.wtrace
