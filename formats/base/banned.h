/*
 * In front of every C file of ours (the build system's -include): the headers of the C library that
 * most files need, so that none repeats them, and functions that have a better replacement as
 * compile errors, so that nobody can forget one. Our headers include what they use.
 */
#pragma once

#include "formats/base/system/libc.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
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
