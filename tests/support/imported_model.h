/* A trace file as a model; somebody else's, for tests that need no trace file of it. */
#pragma once

#include "formats/base/status.h"
#include "report/model/open.h"

/* Open and join a trace file. Free with ws_model_free. */
enum ws_status ws_model_open(struct ws_model **out, const char *path, struct ws_err *err);
/* Import folder/file and open what came of it. Free with ws_model_free. */
enum ws_status ws_imported_model(const char *folder, const char *file, struct ws_model **out,
                                 struct ws_err *err);
