/* The PyTorch importer by itself, for tests: programs run it by formats/import/import.h. */
#pragma once

#include "formats/foreign/importer.h"
#include "formats/text/json_reader.h"

/* Import the events of a trace from its text. */
enum ws_status ws_import_pytorch(struct ws_import_out *o, struct ws_json_stream *text,
                                 struct ws_import_clock *clock, struct ws_err *err);
