#include "tests/support/recorder/own_segment.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "recorder/shared/segment.h"

static int open_segment(void)
{
	const char *path = getenv(WS_SEG_ENV);

	return path ? open(path, O_RDWR) : -1;
}

int own_segment_replace(const char *part, const char *text)
{
	static char header[WS_SEG_HEADER_SIZE + 1];
	int fd = open_segment(), n = 0;
	char *at = header;

	if (fd < 0 || pread(fd, header, WS_SEG_HEADER_SIZE, 0) != WS_SEG_HEADER_SIZE)
		return -1;
	while ((at = memmem(at, (size_t)(header + WS_SEG_HEADER_SIZE - at), part, strlen(part)))) {
		char *begin = at;

		while (begin > header && begin[-1])
			begin--;
		if (pwrite(fd, text, strlen(text) + 1, begin - header) < 0)
			return -1;
		n++;
		at += strlen(part);
	}
	close(fd);
	return n;
}
