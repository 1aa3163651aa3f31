/*
 * Files, folders and names, as the system has them. A folder is a handle; a name is looked up in an
 * open folder, so that nobody can put another in its place meanwhile. The back end `plain` keeps
 * the folder's path instead: there names can be exchanged between two calls.
 *
 * Every function that can fail returns -1 and sets errno. Uses only libc.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WS_HERE (-100) /* the current folder, as a handle: a name is a path */

struct ws_file_info {
	enum {
		WS_FILE_REGULAR,
		WS_FILE_FOLDER,
		WS_FILE_LINK,
		WS_FILE_PIPE,
		WS_FILE_DEVICE, /* of characters */
		WS_FILE_OTHER,
	} type;
	bool is_users, is_roots; /* owner of a file, compared with the user who runs this program */
	unsigned names, rights;
	uint64_t size, device, number;
};

/* Does it stand between the names of a path: '/', on Windows '\\' too? */
bool ws_path_separates(char c);
/* The last name of a path; "": it ends with a separator. */
const char *ws_path_name(const char *path);

/* What a name stands for, or its link; name NULL: what the handle of a file or a folder is. */
int ws_file_look(int folder, const char *name, bool is_followed, struct ws_file_info *info);
static inline bool ws_file_is_same(const struct ws_file_info *a, const struct ws_file_info *b)
{
	return a->device == b->device && a->number == b->number;
}
/* Can a file be opened under this path? */
bool ws_file_exists(const char *path);

enum ws_file_use {
	WS_FILE_READ,       /* by any name; nothing is waited for */
	WS_FILE_APPEND,     /* its end, and reading; never through a link */
	WS_FILE_NEW_APPEND, /* a new file */
	WS_FILE_NEW,        /* the same, for reading and writing anywhere in it */
	WS_FILE_DIRECT,     /* a device or a pipe with a reader, to be written to */
};
/* Returns a descriptor, for fdopen() and close(). */
int ws_file_open(int folder, const char *name, enum ws_file_use use, unsigned rights);
/* Another descriptor of what is open; EBADF if it is wanted for writing and cannot be written. */
int ws_file_copy_handle(int fd, bool is_to_write);
/* Reserves disk space for later writes without changing the file's size. EOPNOTSUPP: the system
 * cannot do that. */
int ws_file_reserve(int fd, uint64_t at, uint64_t bytes);
/* Returns the disk space of these bytes, which then read as zeros. EOPNOTSUPP: as above. */
int ws_file_give_back(int fd, uint64_t at, uint64_t bytes);
int ws_file_sync(int fd);
/* Write bytes that are there already again; the place of the next write may change. */
int ws_file_write_at(int fd, uint64_t at, const void *bytes, size_t n);
/* The name of an open file, for a library that opens a file by its name: that of its descriptor
 * or, in the back end `plain`, its name in the folder. */
void ws_file_path(int fd, int folder, const char *name, char *path, size_t size);

int ws_folder_open(int parent, const char *name, bool is_followed);
int ws_folder_copy_handle(int folder);
void ws_folder_close(int folder);
int ws_folder_make(int parent, const char *name, unsigned rights);
/* Give a folder the rights of another one. */
void ws_folder_take_rights(int folder, int from);
/* The path of a file without links and "..", for free(); NULL: errno. */
char *ws_real_path(const char *path);
/* The folder for temporary files. */
const char *ws_temporary_folder(void);

int ws_name_remove(int folder, const char *name, bool is_folder);
/* EINVAL or ENOSYS where the system cannot do the last two in one step. */
enum ws_name_move { WS_NAME_REPLACE, WS_NAME_NEW, WS_NAME_EXCHANGE };
int ws_name_move(int from, const char *name, int to, const char *as, enum ws_name_move how);

/* Bytes that nobody can guess. */
int ws_random(void *bytes, size_t n);

/* Make a file, opened as WS_FILE_NEW, or a folder. The XXXXXXXX that end its name become letters
 * that nobody can guess. */
int ws_name_temporary(int folder, char *name, unsigned rights, bool is_folder);
/* A new file without a name, in the folder of this path. */
int ws_file_unnamed(const char *folder);
