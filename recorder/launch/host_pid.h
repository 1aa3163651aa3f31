/*
 * A process in a PID namespace of its own (unshare, bubblewrap, Apptainer) tells us its pid there,
 * which here is another process's or nobody's.
 */
#pragma once

#include "recorder/shared/procfs.h"

/*
 * Our pid of the process of another PID namespace; 0: there is none, or none that we see. Looks at
 * all processes.
 */
uint32_t ws_host_pid_find(struct ws_proc process);
