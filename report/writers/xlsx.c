/*
 * Loads the workbook writer, a module that is loaded only when a workbook is written: libxlsxwriter
 * depends on a library of cryptography, whose loading would dominate the start of the program.
 */

#include "formats/base/system/system.h"
#include "report/base/ui.h"
#include "report/table/table.h"

#define MODULE "warpsheet-xlsx.so"

/* Linked into tests of workbooks; otherwise only in the module. */
#pragma weak ws_xlsx_write

enum ws_status ws_out_xlsx(const char *path, const struct ws_report *report, struct ws_err *err)
{
	__typeof__(ws_xlsx_write) *write = ws_xlsx_write;

	if (!write) {
		/* loaded from beside this program, as in the build tree, or from where it is
		 * installed. */
		static const char *const places[] = {"", "../lib/warpsheet/"};
		char folder[PATH_MAX], module_path[PATH_MAX + 64];
		size_t at = 0;

		WS_FORWARD(ws_executable_dir(folder, err));
		do
			snprintf(module_path, sizeof(module_path), "%s%s" MODULE, folder,
			         places[at]);
		while (!ws_file_exists(module_path) && ++at < sizeof(places) / sizeof(*places));
		void *module = ws_library_open(module_path);
		WS_FAIL_IF(!module, err, ENVIRONMENT,
		           "cannot write workbooks: %s; install it, or choose another format",
		           ws_library_error());
		write = (__typeof__(ws_xlsx_write) *)ws_library_function(module, "ws_xlsx_write");
		WS_FAIL_IF(!write, err, ENVIRONMENT, "'%s' is of another version: %s", module_path,
		           ws_library_error());
	}
	return write(path, report, err);
}
