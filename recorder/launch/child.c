/* --- finding --- */
#include "recorder/launch/launch.h"

#include <dirent.h>
#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* 0, or the reason why the file cannot be run: ENOENT, EACCES. */
static int runnable(const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return ENOENT;
	if (!S_ISREG(st.st_mode) || access(path, X_OK))
		return EACCES;
	return 0;
}

static int find_in_path(const char *command, char *out, size_t out_size)
{
	const char *dir = getenv("PATH");
	int result = ENOENT;

	for (dir = dir ? dir : "/usr/local/bin:/usr/bin:/bin"; dir;) {
		size_t len = strcspn(dir, ":");
		/* an empty entry is the current folder */
		int n = snprintf(out, out_size, "%.*s/%s", len ? (int)len : 1, len ? dir : ".",
		                 command);

		if (n > 0 && (size_t)n < out_size) {
			int error = runnable(out);

			if (!error)
				return 0;
			if (error != ENOENT)
				result = error;
		}
		dir = dir[len] ? dir + len + 1 : NULL;
	}
	return result;
}

enum ws_status ws_child_find(const char *command, char *out, size_t out_size, int *exit_code,
                             struct ws_err *err)
{
	int error;

	if (!strchr(command, '/')) {
		error = *command ? find_in_path(command, out, out_size) : ENOENT;
	} else {
		int n = snprintf(out, out_size, "%s", command);

		error = n < 0 || (size_t)n >= out_size ? ENAMETOOLONG : runnable(command);
	}
	if (!error)
		return WS_OK;
	*exit_code = error == ENOENT ? WS_EXIT_NOT_FOUND : WS_EXIT_NOT_EXECUTABLE;
	return WS_FAIL(err, ENVIRONMENT, "cannot run %s: %s", command,
	               error == ENOENT   ? "no such program"
	               : error == EACCES ? "not executable"
	                                 : strerror(error));
}

/* A 64-bit ELF program without PT_INTERP: it has no dynamic linker that could load the
 * collector. */
static bool is_static(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), found = 0, read_all = 0;
	Elf64_Ehdr elf;

	if (fd < 0)
		return 0;
	if (pread(fd, &elf, sizeof(elf), 0) == sizeof(elf) &&
	    !memcmp(elf.e_ident, ELFMAG, SELFMAG) && elf.e_ident[EI_CLASS] == ELFCLASS64 &&
	    elf.e_phentsize == sizeof(Elf64_Phdr)) {
		read_all = 1;
		for (int i = 0; i < elf.e_phnum; i++) {
			Elf64_Phdr segment;
			off_t at = (off_t)(elf.e_phoff + (uint64_t)i * sizeof(segment));

			read_all &= pread(fd, &segment, sizeof(segment), at) == sizeof(segment);
			found |= read_all && segment.p_type == PT_INTERP;
		}
	}
	close(fd);
	return read_all && !found;
}

const char *ws_child_obstacle(const char *path)
{
	struct stat st;

	if (!stat(path, &st) && ((st.st_mode & S_ISUID && st.st_uid != geteuid()) ||
	                         (st.st_mode & S_ISGID && st.st_gid != getegid())))
		return "runs with another user's rights, so the recorder cannot be loaded into it";
	if (is_static(path))
		return "is linked statically, so nothing can be loaded into it";
	return NULL;
}

/* --- signals to the group --- */

static void close_all(void)
{
#ifdef SYS_close_range
	if (!syscall(SYS_close_range, 0, ~0U, 0))
		return;
#endif
	for (int fd = 0; fd < 4096; fd++)
		close(fd);
}

pid_t ws_witness_start(void)
{
	const pid_t launcher = getpid();
	const pid_t pid = fork();

	if (pid)
		return pid > 0 ? pid : 0;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	close_all();
	while (getppid() == launcher)
		pause();
	_exit(0);
}

uint64_t ws_witness_signals(pid_t witness)
{
	char path[48], status[4096], *pending;

	/* Waits until any signal being sent to our group has reached all its members. The call
	 * changes nothing, but waits for the kernel's lock on process groups. */
	(void)!setpgid(0, getpgrp());
	snprintf(path, sizeof(path), "/proc/%d/status", (int)witness);
	(void)ws_text_read(path, status, sizeof(status));
	pending = strstr(status, "\nShdPnd:");
	return pending ? strtoull(pending + strlen("\nShdPnd:"), NULL, 16) : 0;
}

void ws_witness_end(pid_t witness)
{
	kill(witness, SIGKILL);
	while (waitpid(witness, NULL, 0) < 0 && errno == EINTR)
		;
}

/* --- starting --- */

/* Runs in the child. Ends if the launcher was killed before it stored our pid in *who, as nothing
 * would read the recording. execvp also runs scripts without a #! line, as a shell does. */
static void become(const char *path, char *const argv[], const struct ws_child_env *vars, size_t n,
                   const sigset_t *mask, struct ws_seg_process *identity, int launcher)
{
	int error = 0;
	char go;

	if (read(launcher, &go, sizeof(go)) != sizeof(go))
		_exit(WS_EXIT_NOT_EXECUTABLE);
	ws_seg_set_process(identity, ws_proc_self());
	sigprocmask(SIG_SETMASK, mask, NULL);
	for (size_t i = 0; i < n && !error; i++)
		error = setenv(vars[i].name, vars[i].value, 1) ? errno : 0;
	if (!error) {
		execvp(path, argv);
		error = errno;
	}
	if (write(launcher, &error, sizeof(error)) < 0)
		_exit(WS_EXIT_NOT_EXECUTABLE);
	_exit(WS_EXIT_NOT_FOUND);
}

/* Makes the child run the program. 0: it runs; otherwise the error of exec, and the child has
 * ended. */
static int exec_result(pid_t pid, int child)
{
	int error = 0;
	ssize_t n;

	(void)!send(child, "", 1, MSG_NOSIGNAL);
	do
		n = read(child, &error, sizeof(error));
	while (n < 0 && errno == EINTR);
	if (n != sizeof(error))
		return 0;
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return error;
}

enum ws_status ws_child_start(pid_t *out, pid_t *witness, const char *path, char *const argv[],
                              const struct ws_child_env *vars, size_t n, const sigset_t *mask,
                              struct ws_seg_process *identity, int *exit_code, struct ws_err *err)
{
	int ends[2], error;

	WS_FAIL_IF(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), err, ENVIRONMENT,
	           "cannot make a socket: %s", strerror(errno));
	*out = fork();
	error = *out < 0 ? errno : 0;
	if (!*out) {
		close(ends[0]);
		become(path, argv, vars, n, mask, identity, ends[1]);
	}
	close(ends[1]);
	if (*out > 0) {
		atomic_store(&identity->pid, (uint32_t)*out);
		*witness = ws_witness_start();
		error = exec_result(*out, ends[0]);
	}
	close(ends[0]);
	if (!error)
		return WS_OK;
	WS_FAIL_IF(error == ENOMEM, err, NO_MEMORY, "out of memory: cannot run %s", path);
	*exit_code = error == ENOENT ? WS_EXIT_NOT_FOUND : WS_EXIT_NOT_EXECUTABLE;
	return WS_FAIL(err, ENVIRONMENT, "cannot run %s: %s", path, strerror(error));
}

/* --- pids in other namespaces --- */

/* Whether the process has this pid in its innermost namespace, below the namespace of this
 * /proc. */
static bool has_inner_pid(const char *process, uint32_t pid)
{
	char path[64], line[512], *inner;
	bool found = 0;

	snprintf(path, sizeof(path), "/proc/%.32s/status", process);
	FILE *f = ws_xopened(fopen(path, "re"));
	while (f && fgets(line, sizeof(line), f)) {
		if (strncmp(line, "NSpid:", 6) != 0)
			continue;
		/* pids from the outermost namespace inwards, a tab before each */
		inner = strrchr(line, '\t');
		found = inner - line > 6 && strtoul(inner + 1, NULL, 10) == pid;
		break;
	}
	if (f)
		fclose(f);
	return found;
}

/* If the namespace cannot be read, only the start time is compared. */
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

/* --- missing pages --- */

static volatile sig_atomic_t replaced, page_bytes;

/* Signal handler: makes one system call and changes nothing else. */
static void on_missing_page(int number, siginfo_t *info, void *context)
{
	const uintptr_t page = (uintptr_t)info->si_addr & ~((uintptr_t)page_bytes - 1);
	void *at = (void *)page; /* NOLINT(performance-no-int-to-ptr): as the kernel gave it */

	(void)context;
	if (info->si_code == BUS_ADRERR &&
	    mmap(at, (size_t)page_bytes, PROT_READ | PROT_WRITE,
	         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == at) {
		replaced++;
		return;
	}
	signal(number, SIG_DFL); /* default action when the instruction is repeated */
}

void ws_missing_pages_replace(void)
{
	struct sigaction action = {.sa_sigaction = on_missing_page, .sa_flags = SA_SIGINFO};

	page_bytes = (sig_atomic_t)sysconf(_SC_PAGESIZE);
	sigemptyset(&action.sa_mask);
	sigaction(SIGBUS, &action, NULL);
}

unsigned ws_missing_pages(void)
{
	static unsigned known;
	const unsigned before = known;

	known = (unsigned)replaced;
	return known - before;
}
