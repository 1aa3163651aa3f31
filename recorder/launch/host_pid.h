/*
 * A process in a PID namespace of its own (unshare, bubblewrap, Apptainer) tells us its pid there,
 * which here is another process's or nobody's.
 */
#pragma once

#include <stdint.h>

/*
 * Our pid of the process that has this pid in its own PID namespace and this start time; 0: there
 * is none, or none that we see. Looks at all processes.
 */
uint32_t ws_host_pid_find(uint32_t pid, uint64_t start_ticks, uint64_t namespace);
