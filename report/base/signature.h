/* Demangled names of C++ functions: return type, name, template arguments, parameters. */
#pragma once

#include "formats/schema/schema.h"

/*
 * The function's name with its template arguments, without return type and parameters:
 * "std::enable_if<true>::type ns::f<float>(int)" gives "ns::f<float>". A name that is no C++
 * signature comes back whole.
 */
struct ws_bytes ws_name_signature(struct ws_bytes name);

/*
 * The same without template arguments: "void at::native::reduce_kernel<512, 1>(T1)" is
 * "at::native::reduce_kernel". Writes at most as many bytes as the name has; returns how many.
 */
size_t ws_name_function(struct ws_bytes name, char *out);

/* What stands behind the last '::'. */
struct ws_bytes ws_name_last_part(struct ws_bytes name);

/* Functions that run what their template arguments name. */
enum ws_name_frame {
	WS_NAME_NO_FRAME,
	WS_NAME_FRAME,   /* elementwise_kernel, reduce_kernel: a loop around a function */
	WS_NAME_WRAPPER, /* device_kernel: an entry that says nothing of its own */
};
/* function: as ws_name_function gives it. */
enum ws_name_frame ws_name_frame(struct ws_bytes function);
