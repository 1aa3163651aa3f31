/* Where tests write: folders that the keeper removes; without it, /tmp and memory. */
#pragma once

#include <stdlib.h>
#include <unistd.h>

static inline const char *scratch_folder(void)
{
	const char *folder = getenv("TMPDIR");

	return folder ? folder : "/tmp";
}

/* In memory where there is such a folder: thousands of files are made and synced. */
static inline const char *scratch_memory(void)
{
	const char *folder = getenv("WS_TEST_MEMORY");

	return folder ? folder : access("/dev/shm", W_OK) ? scratch_folder() : "/dev/shm";
}
