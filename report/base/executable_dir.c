#include "report/base/executable_dir.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum ws_status ws_executable_dir(char folder[PATH_MAX], struct ws_err *err)
{
	ssize_t n = readlink("/proc/self/exe", folder, PATH_MAX - 1);
	char *slash;

	WS_FAIL_IF(n < 0, err, ENVIRONMENT, "cannot find this program itself: /proc/self/exe: %s",
	           strerror(errno));
	folder[n] = '\0';
	slash = strrchr(folder, '/');
	WS_FAIL_IF(!slash, err, ENVIRONMENT, "cannot find the folder of '%s'", folder);
	slash[1] = '\0';
	return WS_OK;
}
