/*
 * Functions that have a better replacement are compile errors. Included by
 * the build system before every C file of ours (-include), so that nobody
 * can forget it.
 */
#pragma once

#include "formats/base/system/libc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* unbounded or silently truncating: use snprintf, memcpy with a checked size */
#pragma GCC poison strcpy strcat strncpy strncat sprintf vsprintf gets
/* no error report: use strtol and friends with endptr */
#pragma GCC poison atoi atol atoll atof
/* glibc's alone: macOS and Windows have none */
#pragma GCC poison memrchr strchrnul mempcpy rawmemchr
/* hidden static state */
#pragma GCC poison strtok gmtime localtime ctime asctime
/* names can be guessed: use mkstemp */
#pragma GCC poison tmpnam mktemp tempnam
