/*
 * Threads by the system's id of them: a thread is met through its first NVTX
 * event or through CUPTI's record of a call, and must be the same thread of the
 * trace both ways.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "recorder/collect/collector.h"

/* When the table is full, what CUPTI says of further threads stays with the system's ids. */
#define MAX_THREADS 3072

static struct {
	uint32_t tid; /* 0: unused; entries are never removed */
	uint32_t thread;
	uint32_t had_thread_buffer, ended;
} table[MAX_THREADS];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Where the thread is or belongs; -1 when it is not there and the table is full. */
static int place_of(uint32_t tid)
{
	for (int i = 0; i < MAX_THREADS; i++)
		if (table[i].tid == tid || !table[i].tid)
			return i;
	return -1;
}

/* Define a thread, and remember it when there is a place. 0: no room. */
static uint32_t begin(uint32_t tid, const char *name, int place, uint32_t with_thread_buffer)
{
	uint32_t thread = atomic_fetch_add(&ws_collector.seg->next_thread, 1) + 1;

	if (ws_define_thread(thread, tid, name) == WS_DEF_NONE)
		return 0;
	if (place >= 0) {
		table[place].tid = tid;
		table[place].thread = thread;
		table[place].had_thread_buffer = with_thread_buffer;
		table[place].ended = 0;
	}
	return thread;
}

/* The system's name of a thread that may have ended: "" then. */
static void read_name(uint32_t tid, char *name, size_t size)
{
	char path[48];
	ssize_t n;
	int fd;

	name[0] = 0;
	snprintf(path, sizeof(path), "/proc/self/task/%u/comm", (unsigned)tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	n = read(fd, name, size - 1);
	name[n > 0 ? n : 0] = 0;
	name[strcspn(name, "\n")] = 0;
	close(fd);
}

uint32_t ws_thread_of(uint32_t tid)
{
	uint32_t thread = 0;
	sigset_t before;
	char name[32];
	int place;

	ws_lock(&lock, &before);
	place = place_of(tid);
	if (place >= 0 && table[place].tid) {
		thread = table[place].thread;
	} else if (place >= 0) { /* once for each thread, and hardly ever on the program's own */
		read_name(tid, name, sizeof(name));
		thread = begin(tid, name, place, 0);
	}
	ws_unlock(&lock, &before);
	return thread;
}

uint32_t ws_thread_with_buffer(uint32_t tid, const char *name)
{
	uint32_t thread = 0;
	sigset_t before;
	int place;

	ws_lock(&lock, &before);
	place = place_of(tid);
	if (place >= 0 && table[place].tid && !table[place].had_thread_buffer &&
	    !table[place].ended) {
		thread = table[place].thread;
		table[place].had_thread_buffer = 1;
	}
	if (!thread)
		thread = begin(tid, name, place, 1);
	ws_unlock(&lock, &before);
	return thread;
}

void ws_thread_ended(uint32_t tid)
{
	sigset_t before;
	int place;

	ws_lock(&lock, &before);
	place = place_of(tid);
	if (place >= 0 && table[place].tid)
		table[place].ended = 1;
	ws_unlock(&lock, &before);
}

void ws_thread_forked(void)
{
	static const pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;

	lock = unlocked;
}
