#include "tests/support/imported_model.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "formats/import/import.h"

enum ws_status ws_imported_model(const char *folder, const char *file, struct ws_model **out,
                                 struct ws_err *err)
{
	static struct ws_import_stats stats;
	char path[4096], trace[] = "/tmp/ws-imported-XXXXXX";
	int fd = mkstemp(trace);
	enum ws_status status;

	*out = NULL;
	WS_FAIL_IF(fd < 0, err, ENVIRONMENT, "no temporary file");
	close(fd);
	snprintf(path, sizeof(path), "%s/%s", folder, file);
	status = ws_import_file(path, trace, NULL, &stats, err);
	if (status == WS_OK)
		status = ws_model_open(out, trace, err);
	unlink(trace);
	return status;
}
