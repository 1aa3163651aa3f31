#include "formats/base/outfile.h"

#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#include "formats/base/memory.h"
#include "formats/base/system/system.h"

/* A file or folder with a temporary name, or a folder made for files. */
struct ws_outfile_unfinished {
	int folder;        /* owned by a file */
	const char *final; /* the name that it will get in the folder; NULL: temp is its name */
	char *temp;        /* owned */
	bool is_folder;
};

/* --- a program that is interrupted leaves no temporary files --- */

#define MAX_PENDING                                                                   \
	64 /* if there are more, they are not removed when the program is interrupted \
	    */

static const int signals[] = {
        SIGINT,
        SIGTERM,
#ifdef SIGHUP
        SIGHUP,
#endif
};
#define NSIGNALS (sizeof(signals) / sizeof(*signals))

static struct ws_outfile_unfinished *_Atomic pending[MAX_PENDING];

/* A signal handler may call this: it only removes names. */
void ws_outfile_remove_unfinished(void)
{
	bool is_removed;

	/* a folder can be removed once it is empty */
	do {
		is_removed = false;
		for (size_t i = 0; i < MAX_PENDING; i++) {
			const struct ws_outfile_unfinished *u = atomic_load(&pending[i]);

			is_removed |= u && !ws_name_remove(u->folder, u->temp, u->is_folder);
		}
	} while (is_removed);
}

/* While it is above 0, signals are delayed. */
static volatile sig_atomic_t holds, waiting;

static void on_signal(int number)
{
	if (holds) {
		waiting = number;
		return;
	}
	ws_outfile_remove_unfinished();
	signal(number, SIG_DFL);
	raise(number);
}

void ws_outfile_hold_signals(bool are_held)
{
	/* From now on, even before the first file is remembered. */
	static bool are_caught;

	for (size_t i = 0; !are_caught && i < NSIGNALS; i++)
		/* a signal that is ignored, as under nohup, stays ignored */
		if (signal(signals[i], on_signal) == SIG_IGN)
			signal(signals[i], SIG_IGN);
	are_caught = true;
	holds += are_held ? 1 : -1;
	if (!holds && waiting)
		on_signal(waiting);
}

static void forget(const struct ws_outfile_unfinished *u)
{
	for (size_t i = 0; i < MAX_PENDING; i++)
		if (atomic_load(&pending[i]) == u)
			atomic_store(&pending[i], NULL);
}

static void free_unfinished(struct ws_outfile_unfinished *u)
{
	if (!u)
		return;
	forget(u);
	if (!u->is_folder)
		ws_folder_close(u->folder);
	free(u->temp);
	free(u);
}

/*
 * Makes a file or folder with the name temp. Takes ownership of temp, and of a file's folder. If it
 * will be renamed to `final`, temp is completed to a name that cannot be guessed. Signals are
 * delayed until the new entry is in the list. NULL: errno.
 */
static struct ws_outfile_unfinished *make_unfinished(int folder, char *temp, const char *final,
                                                     bool is_folder, int *fd)
{
	struct ws_outfile_unfinished *u = ws_xarray(1, sizeof(*u));

	*u = (struct ws_outfile_unfinished){folder, final, temp, is_folder};
	ws_outfile_hold_signals(true);
	*fd = is_folder && !final
	              ? ws_folder_make(folder, temp, 0777)
	              : ws_name_temporary(folder, temp, is_folder ? 0777 : 0666, is_folder);
	int why = errno;
	if (*fd >= 0) {
		ws_out_of_memory_first(ws_outfile_remove_unfinished);
		for (size_t i = 0; i < MAX_PENDING; i++) {
			if (atomic_load(&pending[i]))
				continue;
			atomic_store(&pending[i], u);
			break;
		}
	}
	ws_outfile_hold_signals(false);
	if (*fd < 0) {
		free_unfinished(u);
		u = NULL;
	}
	errno = why;
	return u;
}

/* --- a file --- */

#define ROOM_BYTES ((size_t)64 << 10)

static enum ws_status cannot_create(struct ws_outfile *o, struct ws_err *err)
{
	enum ws_status status =
	        WS_FAIL(err, IO_WRITE, "cannot create '%s': %s", o->path, strerror(errno));

	ws_outfile_abandon(o);
	return status;
}

/* Takes ownership of the folder (-1: errno). name: the last part of o->path. */
static enum ws_status open_in(struct ws_outfile *o, int folder, const char *name,
                              struct ws_err *err)
{
	int fd;

	if (folder < 0)
		return cannot_create(o, err);
	enum ws_status status = ws_own_file_direct(folder, name, o->path, &fd, err);
	if (status != WS_OK || fd >= 0)
		ws_folder_close(folder);
	if (status != WS_OK) {
		ws_outfile_abandon(o);
		return status;
	}
	if (fd < 0)
		o->unfinished =
		        make_unfinished(folder, ws_xformat(".%s.XXXXXXXX", name), name, false, &fd);
	if (fd < 0)
		return cannot_create(o, err);
	o->f = ws_xopened(fdopen(fd, "w"));
	if (!o->f) {
		close(fd);
		return cannot_create(o, err);
	}
	o->room = ws_xmalloc(ROOM_BYTES);
	setvbuf(o->f, o->room, _IOFBF, ROOM_BYTES);
	return WS_OK;
}

bool ws_outfile_is_same(const char *path, const char *input)
{
	struct ws_file_info a, b;

	return !ws_file_look(WS_HERE, path, true, &a) && !ws_file_look(WS_HERE, input, true, &b) &&
	       ws_file_is_same(&a, &b);
}

enum ws_status ws_outfile_open(struct ws_outfile *o, const char *path, struct ws_err *err)
{
	const char *name;

	*o = (struct ws_outfile){.path = ws_xstrdup(path)};
	int folder = ws_own_file_folder(o->path, &name);
	if (folder >= 0 && !*name) {
		ws_folder_close(folder);
		folder = -1;
		errno = EISDIR;
	}
	return open_in(o, folder, name, err);
}

const char *ws_outfile_name(struct ws_outfile *o)
{
	const struct ws_outfile_unfinished *u = o->unfinished;

	ws_file_path(fileno(o->f), u ? u->folder : WS_HERE, u ? u->temp : o->path, o->name,
	             sizeof(o->name));
	return o->name;
}

enum ws_status ws_outfile_commit(struct ws_outfile *o, struct ws_err *err)
{
	const struct ws_outfile_unfinished *u = o->unfinished;
	struct ws_file_info ours, named;
	/* the temporary name may now belong to another file, which must not be renamed */
	const bool is_ours = !u || (!ws_file_look(fileno(o->f), NULL, false, &ours) &&
	                            !ws_file_look(u->folder, u->temp, false, &named) &&
	                            ws_file_is_same(&ours, &named));
	int why = ws_stream_flush(o->f);

	if (fclose(o->f) != 0 && !why)
		why = errno;
	o->f = NULL;
	if (is_ours && !why && u &&
	    ws_name_move(u->folder, u->temp, u->folder, u->final, WS_NAME_REPLACE))
		why = errno;
	if (!is_ours)
		WS_FAIL(err, IO_WRITE,
		        "cannot write '%s': somebody else replaced it while it was made; take a "
		        "folder that others cannot write to",
		        o->path);
	else if (why)
		WS_FAIL(err, IO_WRITE, "cannot write '%s': %s", o->path, strerror(why));
	if (!is_ours || why) {
		ws_outfile_abandon(o);
		return WS_IO_WRITE;
	}
	free_unfinished(o->unfinished);
	free(o->room);
	free(o->path);
	*o = (struct ws_outfile){0};
	return WS_OK;
}

enum ws_status ws_outfile_end(struct ws_outfile *o, enum ws_status status,
                              const struct ws_err *cause, struct ws_err *err)
{
	if (status == WS_OK)
		return ws_outfile_commit(o, err);
	ws_fail(err, status, cause->file, cause->line, "cannot write '%s': %s", o->path,
	        cause->text);
	ws_outfile_abandon(o);
	return status;
}

void ws_outfile_abandon(struct ws_outfile *o)
{
	if (o->f)
		fclose(o->f);
	if (o->unfinished)
		ws_name_remove(o->unfinished->folder, o->unfinished->temp, false);
	free_unfinished(o->unfinished);
	free(o->room);
	free(o->path);
	*o = (struct ws_outfile){0};
}

/* --- a folder of files --- */

/* Checks that the opened file (-1: errno) is a folder which no other user can have made. */
static enum ws_status check_folder(int folder, const char *path, struct ws_err *err)
{
	const int why = errno;
	struct ws_file_info info;

	WS_FAIL_IF(folder < 0 && !ws_file_look(WS_HERE, path, false, &info) &&
	                   info.type == WS_FILE_LINK,
	           err, IO_WRITE,
	           "cannot write files into '%s': it is a symbolic link; name the folder itself",
	           path);
	WS_FAIL_IF(folder < 0 && why == ENOTDIR, err, IO_WRITE,
	           "cannot write files into '%s': it is not a folder", path);
	WS_FAIL_IF(folder < 0 || ws_file_look(folder, NULL, false, &info), err, IO_WRITE,
	           "cannot write files into '%s': %s", path, strerror(why));
	WS_FAIL_IF(!info.is_roots && !info.is_users, err, IO_WRITE,
	           "cannot write files into '%s': it belongs to another user; name a folder of "
	           "your own, or a new one",
	           path);
	return WS_OK;
}

static char *path_of(const struct ws_outfolder *f, const char *name)
{
	return ws_xformat("%s/%s", f->levels[f->depth - 1].path, name);
}

/* Takes ownership of path. */
static struct ws_outfolder_level *add_level(struct ws_outfolder *f, char *path)
{
	WS_GROW(f->levels, f->depth + 1, f->levels_capacity);
	f->levels[f->depth] = (struct ws_outfolder_level){.path = path, .fd = -1, .before = -1};
	return &f->levels[f->depth++];
}

/* Open the level's folder, which has this name in the parent, and check whose it is. */
static enum ws_status open_level(struct ws_outfolder_level *level, int parent, const char *name,
                                 struct ws_err *err)
{
	level->fd = ws_folder_open(parent, name, false);
	return check_folder(level->fd, level->path, err);
}

/* Makes and opens the folder `name` of a parent. Takes ownership of path, its whole path. */
static enum ws_status enter(struct ws_outfolder *f, int parent, const char *name, char *path,
                            struct ws_err *err)
{
	struct ws_outfolder_level *level = add_level(f, path);
	const char *last = ws_path_name(path);
	int fd;

	level->made = make_unfinished(parent, ws_xstrdup(*last ? last : path), NULL, true, &fd);
	WS_FAIL_IF(!level->made && errno != EEXIST, err, IO_WRITE,
	           "cannot make the folder '%s': %s", path, strerror(errno));
	return open_level(level, parent, name, err);
}

int ws_outfolder_fd(const struct ws_outfolder *f)
{
	return f->levels[f->depth - 1].fd;
}

enum ws_status ws_outfolder_open(struct ws_outfolder *f, const char *path, struct ws_err *err)
{
	size_t len = strlen(path);
	const char *name;

	while (len > 1 && ws_path_separates(path[len - 1]))
		len--; /* with a slash behind its name, a link would be followed */
	char *copy = ws_xstrndup(path, len);
	*f = (struct ws_outfolder){.parent = -1};
	f->parent = ws_own_file_folder(copy, &name);
	if (f->parent < 0) {
		WS_FAIL(err, IO_WRITE, "cannot make the folder '%s': %s", path, strerror(errno));
		free(copy);
		return WS_IO_WRITE;
	}
	return enter(f, f->parent, *name ? name : ".", copy, err);
}

enum ws_status ws_outfolder_enter(struct ws_outfolder *f, const char *name, struct ws_err *err)
{
	return enter(f, ws_outfolder_fd(f), name, path_of(f, name), err);
}

enum ws_status ws_outfolder_replace(struct ws_outfolder *f, const char *name,
                                    bool (*is_old)(const char *name), struct ws_err *err)
{
	const int parent = ws_outfolder_fd(f);
	struct ws_outfolder_level *level = add_level(f, path_of(f, name));
	int fd;

	f->is_old = is_old;
	level->before = ws_folder_open(parent, name, false);
	if (level->before >= 0 || errno != ENOENT)
		WS_FORWARD(check_folder(level->before, level->path, err));
	level->made = make_unfinished(parent, ws_xformat(".%s.XXXXXXXX", name),
	                              ws_path_name(level->path), true, &fd);
	WS_FAIL_IF(!level->made, err, IO_WRITE, "cannot make a folder beside '%s': %s", level->path,
	           strerror(errno));
	WS_FORWARD(open_level(level, parent, level->made->temp, err));
	if (level->before >= 0)
		ws_folder_take_rights(level->fd, level->before);
	return WS_OK;
}

enum ws_status ws_outfolder_file(const struct ws_outfolder *f, const char *name,
                                 struct ws_outfile *out, struct ws_err *err)
{
	*out = (struct ws_outfile){.path = path_of(f, name)};
	return open_in(out, ws_folder_copy_handle(ws_outfolder_fd(f)), ws_path_name(out->path),
	               err);
}

void ws_outfolder_add(struct ws_outfolder *f, struct ws_outfile *out)
{
	WS_GROW(f->files, f->nfiles + 1, f->capacity);
	f->files[f->nfiles++] = *out;
	*out = (struct ws_outfile){0};
}

/* --- replace a folder --- */

static bool is_replacing(const struct ws_outfolder_level *level)
{
	return level->made && level->made->final;
}

/*
 * Exchange the names of two folders. On a file system that cannot do that in one step, such as NFS,
 * no folder has the name `final` for a moment. -1: errno; the names are as before.
 */
static int exchange(int folder, const char *temp, const char *final)
{
	int result, why;

	result = ws_name_move(folder, temp, folder, final, WS_NAME_EXCHANGE);
	if (!result || (errno != EINVAL && errno != ENOSYS))
		return result;
	char *aside = ws_xstrdup(temp);
	result = ws_name_temporary(folder, aside, 0700, true);
	if (!result && (result = ws_name_move(folder, final, folder, aside, WS_NAME_REPLACE))) {
		why = errno;
		ws_name_remove(folder, aside, true);
		errno = why;
	} else if (!result &&
	           (result = ws_name_move(folder, temp, folder, final, WS_NAME_REPLACE))) {
		why = errno;
		ws_name_move(folder, aside, folder, final, WS_NAME_REPLACE);
		errno = why;
	} else if (!result) {
		result = ws_name_move(folder, aside, folder, temp, WS_NAME_REPLACE);
	}
	why = errno;
	free(aside);
	errno = why;
	return result;
}

/* Renames the new folder to its final name or, if that was done, back. -1: errno. */
static int change_places(struct ws_outfolder_level *level)
{
	const struct ws_outfile_unfinished *u = level->made;
	int result;

	if (level->before >= 0)
		result = exchange(u->folder, u->temp, u->final);
	else if (level->is_shown)
		result = ws_name_move(u->folder, u->final, u->folder, u->temp, WS_NAME_REPLACE);
	else
		result = ws_name_move(u->folder, u->temp, u->folder, u->final, WS_NAME_REPLACE);
	level->is_shown ^= !result;
	return result;
}

/* Move a name to another folder, which must not have it. -1: errno. */
static int move(int from, const char *name, int to)
{
	struct ws_file_info info;

	if (!ws_name_move(from, name, to, name, WS_NAME_NEW))
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -1;
	if (!ws_file_look(to, name, false, &info)) {
		errno = EEXIST;
		return -1;
	}
	return ws_name_move(from, name, to, name, WS_NAME_REPLACE);
}

/* --- the end --- */

static void release_folder(struct ws_outfolder *f, bool is_abandoned)
{
	char **names;
	int n;

	for (size_t i = f->depth; i-- > 0;) {
		struct ws_outfolder_level *level = &f->levels[i];

		if (is_abandoned && is_replacing(level) &&
		    !(level->is_shown && change_places(level)) &&
		    (n = ws_folder_names(level->fd, &names)) >= 0) {
			for (int k = 0; k < n; free(names[k++]))
				ws_name_remove(level->fd, names[k], false);
			free(names);
		}
		if (is_abandoned && level->made)
			ws_name_remove(level->made->folder, level->made->temp, true);
		free_unfinished(level->made);
		free(level->path);
		if (level->fd >= 0)
			ws_folder_close(level->fd);
		if (level->before >= 0)
			ws_folder_close(level->before);
	}
	if (f->depth)
		ws_folder_close(f->parent);
	free(f->levels);
	free(f->files);
	*f = (struct ws_outfolder){0};
}

enum ws_status ws_outfolder_show(struct ws_outfolder *f, struct ws_err *err)
{
	struct ws_outfolder_level *level = f->depth ? &f->levels[f->depth - 1] : NULL;
	enum ws_status status = WS_OK;

	for (size_t i = 0; i < f->nfiles && status == WS_OK; i++)
		status = ws_outfile_commit(&f->files[i], err);
	if (status == WS_OK && level && is_replacing(level) && !level->is_shown) {
		if (change_places(level))
			return WS_FAIL(err, IO_WRITE, "cannot replace the folder '%s': %s",
			               level->path, strerror(errno));
		forget(level->made); /* its temporary name is now that of the replaced folder */
	}
	if (status == WS_OK)
		f->nfiles = 0;
	return status;
}

enum ws_status ws_outfolder_commit(struct ws_outfolder *f, struct ws_err *err)
{
	enum ws_status status = ws_outfolder_show(f, err);

	if (status != WS_OK) {
		ws_outfolder_abandon(f);
		return status;
	}
	/* remove its old files, move all others to the new folder, and remove it */
	if (f->depth && f->levels[f->depth - 1].before >= 0) {
		const struct ws_outfolder_level *level = &f->levels[f->depth - 1];
		const struct ws_outfile_unfinished *u = level->made;
		char **names;
		int n = ws_folder_names(level->before, &names);

		if (n < 0)
			status = WS_FAIL(err, IO_WRITE,
			                 "cannot read the folder of before of '%s': %s",
			                 level->path, strerror(errno));
		for (int i = 0; i < n; free(names[i++])) {
			const char *name = names[i];

			if (f->is_old(name) && !ws_name_remove(level->before, name, false))
				continue;
			if (move(level->before, name, level->fd) && status == WS_OK)
				status = WS_FAIL(err, IO_WRITE,
				                 "'%s' is new, but '%s' of before stays in '%s' "
				                 "beside it: %s",
				                 level->path, name, u->temp, strerror(errno));
		}
		if (n >= 0)
			free(names);
		if (status == WS_OK && ws_name_remove(u->folder, u->temp, true))
			status = WS_FAIL(
			        err, IO_WRITE,
			        "'%s' is new, but that of before stays as '%s' beside it: %s",
			        level->path, u->temp, strerror(errno));
	}
	release_folder(f, false);
	return status;
}

void ws_outfolder_abandon(struct ws_outfolder *f)
{
	for (size_t i = 0; i < f->nfiles; i++)
		ws_outfile_abandon(&f->files[i]);
	release_folder(f, true);
}
