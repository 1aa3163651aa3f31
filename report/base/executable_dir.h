/* Where this program lies: what belongs to it lies beside it, or is installed near it. */
#pragma once

#include <limits.h>

#include "formats/base/status.h"

/* The folder with the slash behind it. ENVIRONMENT when the system does not say. */
enum ws_status ws_executable_dir(char folder[PATH_MAX], struct ws_err *err);
