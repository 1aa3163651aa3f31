/*
 * Somebody else's trace as a model, for tests that need no trace file of it.
 */
#pragma once

#include "formats/base/status.h"
#include "report/model/open.h"

/* Import folder/file and open what came of it. Free with ws_model_free. */
enum ws_status ws_imported_model(const char *folder, const char *file, struct ws_model **out,
                                 struct ws_err *err);
