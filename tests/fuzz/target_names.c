/* Any bytes as the name of a kernel: demangled, shortened, classed. */
#include <stdlib.h>

#include "report/kernel_info/classify.h"
#include "report/names/names.h"
#include "tests/fuzz/mutate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct ws_classifier *classifier;
	static struct ws_buf demangled, name;
	struct ws_kernel_traits traits;
	struct ws_err err;

	if (!classifier && ws_classifier_new(NULL, 0, &classifier, &err) != WS_OK)
		abort();
	if (!size)
		return 0;
	demangled.len = name.len = 0;
	ws_demangle((const char *)data, size, &demangled);
	ws_short_name((struct ws_bytes){demangled.data, demangled.len}, &name);
	ws_classify(classifier, (const char *)demangled.data, demangled.len, &traits);
	return 0;
}
