/*
 * Readable C++ signatures for mangled kernel names (Itanium C++ ABI, what
 * nvcc emits on Linux). The work is done by libiberty.
 */
#pragma once

#include <stddef.h>

#include "formats/base/bytes.h"

/*
 * Longer names stay as they are. The library recurses: the worst inputs found
 * take 200 bytes of stack a byte of name, so these 3.2 MiB.
 */
#define WS_DEMANGLE_MAX_BYTES (16u << 10)
/*
 * So do names whose signature would be longer: back references let a name of
 * 400 bytes stand for a signature that fills the memory.
 */
#define WS_DEMANGLED_MAX_BYTES (64u << 10)

/*
 * Append to out the signature that a mangled name stands for: "_Z3addiPfS_"
 * is "add(int, float*, float*)". Whatever is not mangled, not understood or
 * over a limit above is appended as it is.
 */
void ws_demangle(const char *name, size_t len, struct ws_buf *out);
