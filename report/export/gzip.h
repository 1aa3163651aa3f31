/* A file of text that is compressed as it is written. */
#pragma once

#include <stdio.h>

#include "formats/base/status.h"

/*
 * Create path, or truncate it. What is written to *f appears there in gzip
 * format, without name or time: the same text gives the same bytes. Errors are
 * those of stdio; fclose ends the file. IO_WRITE when it cannot be created.
 */
enum ws_status ws_export_gzip_open(FILE **f, const char *path, struct ws_err *err);
