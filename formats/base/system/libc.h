/*
 * What C libraries other than glibc lack of what we use. banned.h includes it, in front of every C
 * file.
 */
#pragma once

#if defined(__APPLE__) || defined(__wasi__)
#include <unistd.h> /* its declarations name what banned.h forbids */
#endif
#ifdef __APPLE__
#define fwrite_unlocked fwrite
#endif
/* Out of a library's call of ours. */
#ifdef __wasi__
typedef int ws_jump_place;
#define ws_jump_here(place) ((void)(place), 0)
#define ws_jump(place)      ((void)(place))
#else
#include <setjmp.h>
typedef jmp_buf ws_jump_place;
#define ws_jump_here(place) setjmp(place)
#define ws_jump(place)      longjmp(place, 1)
#endif
#ifdef _WIN32
#define _POSIX_THREAD_SAFE_FUNCTIONS 200112L
#define _CRT_RAND_S
#include <direct.h>
#include <io.h>
#include <process.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/types.h>
#include <unistd.h>
#ifdef WS_SYSTEM_PLAIN /* in this room alone: it names what banned.h forbids */
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#endif
#define EDQUOT          ENOSPC
#define fwrite_unlocked _fwrite_nolock
#define putc_unlocked   _putc_nolock
void *memmem(const void *text, size_t n, const void *part, size_t len);
char *strcasestr(const char *text, const char *part);
ssize_t getline(char **line, size_t *size, FILE *f);
#endif
