#include "tests/support/imported_model.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "formats/import/import.h"
#include "formats/trace/reader.h"

enum ws_status ws_model_open(struct ws_model **out, const char *path, struct ws_err *err)
{
	struct ws_trace_reader *r = NULL;
	enum ws_status status;

	*out = NULL;
	WS_FORWARD(ws_trace_reader_open(&r, path, err));
	status = ws_model_open_reader(out, r, path, NULL, err);
	ws_trace_reader_free(r);
	return status;
}

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
