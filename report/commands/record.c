/* `warpsheet record` is warpsheet-record: people learn one name. */
#include <errno.h>
#include <unistd.h>

#include "formats/base/xalloc.h"
#include "report/base/executable_dir.h"
#include "report/commands/command.h"

#define RECORDER "warpsheet-record"

/* Where the recorder may lie as seen from the folder of this program: beside it, or installed. */
static const char *const places[] = {"", "../bin/"};

enum ws_status ws_cmd_record(int argc, char **argv, struct ws_err *err)
{
	char folder[PATH_MAX], path[PATH_MAX + sizeof(RECORDER) + 16], name[] = RECORDER;
	char **args = ws_xarray((size_t)argc + 2, sizeof(*args));
	enum ws_status status;

	args[0] = name;
	for (int i = 0; i < argc; i++)
		args[i + 1] = argv[i];
	status = ws_executable_dir(folder, err);
	for (size_t i = 0; status == WS_OK && i < sizeof(places) / sizeof(*places); i++) {
		snprintf(path, sizeof(path), "%s%s" RECORDER, folder, places[i]);
		execv(path, args);
		if (errno != ENOENT)
			status = WS_FAIL(err, ENVIRONMENT, "cannot run '%s': %s", path,
			                 strerror(errno));
	}
	WS_THEN(status, WS_FAIL(err, ENVIRONMENT,
	                        "cannot find " RECORDER " beside this program in '%s'", folder));
	free(args);
	return status;
}
