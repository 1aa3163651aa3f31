#include "recorder/launch/host_pid.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "formats/base/xalloc.h"

/* Is its innermost pid this one, in a namespace below the one whose /proc this is? */
static bool has_inner_pid(const char *process, uint32_t pid)
{
	char path[64], line[512], *inner;
	bool found = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%.32s/status", process);
	f = ws_xopened(fopen(path, "re"));
	while (f && fgets(line, sizeof(line), f)) {
		if (strncmp(line, "NSpid:", 6) != 0)
			continue;
		inner = strrchr(line, '\t'); /* from the outermost on, a tab before each */
		found = inner - line > 6 && strtoul(inner + 1, NULL, 10) == pid;
		break;
	}
	if (f)
		fclose(f);
	return found;
}

/* One whose namespace we may not ask for is told by its start time alone. */
static bool is_in_namespace(const char *process, uint64_t namespace)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%.32s/ns/pid", process);
	return stat(path, &st) || st.st_ino == namespace;
}

uint32_t ws_host_pid_find(struct ws_proc process)
{
	DIR *dir = ws_xopened(opendir("/proc"));
	uint32_t found = 0;

	for (struct dirent *e; dir && !found && (e = readdir(dir));) {
		uint32_t candidate = (uint32_t)strtoul(e->d_name, NULL, 10);

		if (candidate && has_inner_pid(e->d_name, process.pid) &&
		    is_in_namespace(e->d_name, process.namespace) &&
		    ws_proc_alive((struct ws_proc){candidate, process.start_ticks, 0}))
			found = candidate;
	}
	if (dir)
		closedir(dir);
	return found;
}
