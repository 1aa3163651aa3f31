#include "formats/base/outfile.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/base/grow.h"
#include "formats/base/own_file.h"

/* --- who is interrupted leaves no temporary files --- */

#define MAX_PENDING 64 /* further ones stay when the program is interrupted */

static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
#define NSIGNALS (sizeof(signals) / sizeof(*signals))

static const char *_Atomic pending[MAX_PENDING];

/* Of calls only unlink, which a signal's handler may make. */
void ws_outfile_remove_unfinished(void)
{
	for (size_t i = 0; i < MAX_PENDING; i++) {
		const char *temp = atomic_load(&pending[i]);

		if (temp)
			unlink(temp);
	}
}

static void on_signal(int number)
{
	ws_outfile_remove_unfinished();
	signal(number, SIG_DFL);
	raise(number);
}

static void remember(const char *temp)
{
	static int installed;

	for (size_t i = 0; !installed && i < NSIGNALS; i++)
		/* one that is ignored, as under nohup, stays so */
		if (signal(signals[i], on_signal) == SIG_IGN)
			signal(signals[i], SIG_IGN);
	installed = 1;
	for (size_t i = 0; i < MAX_PENDING; i++) {
		if (atomic_load(&pending[i]))
			continue;
		atomic_store(&pending[i], temp);
		return;
	}
}

static void forget(const char *temp)
{
	for (size_t i = 0; temp && i < MAX_PENDING; i++)
		if (atomic_load(&pending[i]) == temp)
			atomic_store(&pending[i], NULL);
}

static void release(struct ws_outfile *o)
{
	forget(o->temp);
	free(o->path);
	free(o->temp);
	memset(o, 0, sizeof(*o));
}

/* "dir/name" makes "dir/.name.XXXXXX": the same folder, so that rename works. */
static char *temp_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	int dir = slash ? (int)(slash - path) + 1 : 0;
	char *temp = NULL;

	if (asprintf(&temp, "%.*s.%s.XXXXXX", dir, path, path + dir) < 0)
		return NULL;
	return temp;
}

static bool is_special(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && !S_ISREG(st.st_mode);
}

/* A signal waits until the file that is made is known to its handler; errno says why there is none.
 */
static enum ws_status make_remembered(char *temp, int *fd)
{
	enum ws_status status;
	sigset_t wait, before;
	int why;

	sigemptyset(&wait);
	for (size_t i = 0; i < NSIGNALS; i++)
		sigaddset(&wait, signals[i]);
	pthread_sigmask(SIG_BLOCK, &wait, &before);
	status = ws_own_file_temporary(temp, 0, fd, NULL);
	why = errno;
	if (status == WS_OK)
		remember(temp);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	errno = why;
	return status;
}

static enum ws_status create(struct ws_outfile *o, const char *path, int *fd, struct ws_err *err)
{
	int why;

	memset(o, 0, sizeof(*o));
	*fd = -1;
	o->path = strdup(path);
	if (!o->path)
		return WS_FAIL(err, NO_MEMORY, "out of memory");
	if (is_special(path))
		return WS_OK;
	o->temp = temp_name(path);
	if (!o->temp) {
		release(o);
		return WS_FAIL(err, NO_MEMORY, "out of memory");
	}
	if (make_remembered(o->temp, fd) == WS_OK)
		return WS_OK;
	why = errno;
	release(o);
	return WS_FAIL(err, IO_WRITE, "cannot create '%s': %s", path, strerror(why));
}

bool ws_outfile_is_same(const char *path, const char *input)
{
	struct stat a, b;

	return !stat(path, &a) && !stat(input, &b) && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

enum ws_status ws_outfile_open(struct ws_outfile *o, const char *path, struct ws_err *err)
{
	int fd, why;

	WS_FORWARD(create(o, path, &fd, err));
	o->f = o->temp ? fdopen(fd, "w") : fopen(path, "w");
	if (o->f)
		return WS_OK;
	why = errno;
	if (fd >= 0)
		close(fd);
	ws_outfile_abandon(o);
	return WS_FAIL(err, IO_WRITE, "cannot create '%s': %s", path, strerror(why));
}

enum ws_status ws_outfile_reserve(struct ws_outfile *o, const char *path, struct ws_err *err)
{
	int fd;

	WS_FORWARD(create(o, path, &fd, err));
	if (fd >= 0)
		close(fd);
	return WS_OK;
}

const char *ws_outfile_name(const struct ws_outfile *o)
{
	return o->temp ? o->temp : o->path;
}

static enum ws_status close_checked(struct ws_outfile *o, struct ws_err *err)
{
	/* an earlier failed write is remembered by ferror, its errno is not */
	int failed = ferror(o->f), why = 0;

	if (fflush(o->f) != 0) {
		failed = 1;
		why = errno;
	}
	if (fclose(o->f) != 0 && !failed) {
		failed = 1;
		why = errno;
	}
	o->f = NULL;
	if (failed)
		return WS_FAIL(err, IO_WRITE, "cannot write '%s'%s%s", o->path, why ? ": " : "",
		               why ? strerror(why) : "");
	return WS_OK;
}

enum ws_status ws_outfile_commit(struct ws_outfile *o, struct ws_err *err)
{
	enum ws_status status = o->f ? close_checked(o, err) : WS_OK;

	if (status == WS_OK && o->temp) {
		if (rename(o->temp, o->path) == 0) {
			forget(o->temp);
			free(o->temp);
			o->temp = NULL;
		} else {
			status = WS_FAIL(err, IO_WRITE, "cannot write '%s': %s", o->path,
			                 strerror(errno));
		}
	}
	ws_outfile_abandon(o);
	return status;
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
	if (o->temp)
		unlink(o->temp);
	release(o);
}

/* --- folders of them --- */

/* Takes path; NULL is out of memory. */
static enum ws_status make_dir(struct ws_outfolder *f, char *path, struct ws_err *err)
{
	struct stat st;
	bool made;

	WS_FAIL_IF(!path, err, NO_MEMORY, "out of memory");
	made = mkdir(path, 0777) == 0;
	if (!made && errno != EEXIST)
		WS_FAIL(err, IO_WRITE, "cannot make the folder '%s': %s", path, strerror(errno));
	else if (!made && (stat(path, &st) != 0 || !S_ISDIR(st.st_mode)))
		WS_FAIL(err, IO_WRITE, "cannot write files into '%s': it is not a folder", path);
	else {
		f->dirs[f->depth] = path;
		f->made[f->depth++] = made;
		return WS_OK;
	}
	free(path);
	return WS_IO_WRITE;
}

static char *path_of(const struct ws_outfolder *f, const char *name)
{
	char *path;

	return asprintf(&path, "%s/%s", f->dirs[f->depth - 1], name) < 0 ? NULL : path;
}

enum ws_status ws_outfolder_open(struct ws_outfolder *f, const char *path, struct ws_err *err)
{
	*f = (struct ws_outfolder){0};
	return make_dir(f, strdup(path), err);
}

enum ws_status ws_outfolder_enter(struct ws_outfolder *f, const char *name, struct ws_err *err)
{
	WS_FAIL_IF(f->depth == WS_OUTFOLDER_DEPTH, err, BUG, "folder %s is one too many", name);
	return make_dir(f, path_of(f, name), err);
}

enum ws_status ws_outfolder_file(const struct ws_outfolder *f, const char *name,
                                 struct ws_outfile *out, struct ws_err *err)
{
	char *path = path_of(f, name);
	enum ws_status status;

	*out = (struct ws_outfile){0};
	WS_FAIL_IF(!path, err, NO_MEMORY, "out of memory");
	status = ws_outfile_open(out, path, err);
	free(path);
	return status;
}

enum ws_status ws_outfolder_add(struct ws_outfolder *f, struct ws_outfile *out, struct ws_err *err)
{
	enum ws_status status = WS_GROW(f->files, f->nfiles + 1, f->capacity, err);

	if (status != WS_OK) {
		ws_outfile_abandon(out);
		return status;
	}
	f->files[f->nfiles++] = *out;
	*out = (struct ws_outfile){0};
	return WS_OK;
}

enum ws_status ws_outfolder_remove(const struct ws_outfolder *f, const char *name,
                                   struct ws_err *err)
{
	char *path = path_of(f, name);

	WS_FAIL_IF(!path, err, NO_MEMORY, "out of memory");
	unlink(path);
	free(path);
	return WS_OK;
}

static void release_folder(struct ws_outfolder *f)
{
	for (int i = 0; i < f->depth; i++)
		free(f->dirs[i]);
	free(f->files);
	*f = (struct ws_outfolder){0};
}

enum ws_status ws_outfolder_commit(struct ws_outfolder *f, struct ws_err *err)
{
	enum ws_status status = WS_OK;

	for (size_t i = 0; i < f->nfiles && status == WS_OK; i++)
		status = ws_outfile_commit(&f->files[i], err);
	if (status == WS_OK)
		release_folder(f);
	else
		ws_outfolder_abandon(f);
	return status;
}

void ws_outfolder_abandon(struct ws_outfolder *f)
{
	for (size_t i = 0; i < f->nfiles; i++)
		ws_outfile_abandon(&f->files[i]);
	for (int i = f->depth - 1; i >= 0; i--)
		if (f->made[i])
			(void)!rmdir(f->dirs[i]);
	release_folder(f);
}
