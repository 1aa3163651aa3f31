#include "recorder/launch/missing_pages.h"

#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

static volatile sig_atomic_t replaced, page_bytes;

/* What the kernel does for it is one call, and nothing else here is touched. */
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
	signal(number, SIG_DFL); /* as without us, when the instruction is tried again */
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
