/*
 * A CUDA program whose times are planted: what it does stands on standard input, a line each.
 *   step, end           a range `step` begins, ends
 *   work NS, load NS    the host works, or loads data in a range of PyTorch's loader
 *   launch NAME STREAM CALL_NS NS   the call takes CALL_NS; the kernel begins LATENCY after it, and
 *                       QUEUE after what is before it on its stream, and takes NS
 *   wait                for the whole device
 *   range NAME          another range begins, which `end` ends
 *   node G NAME NS      the host takes 1000 ns to capture a kernel of NS into graph G (a letter)
 *   beside RANGE G NAME NS   the same on another thread, inside a range
 *   child G H, body G H the nodes of H become part of G: as a child, as a condition's body
 *   clone G H, instantiate G H   H becomes a copy of G, or what is launched
 *   update H G          H does what G does from now on
 *   replay H, destroy G
 *   function NS         the host runs a function in the order of a stream; a node called host is
 *                       such a function
 *   away NS             the GPU turns away from the program for so long
 *
 * Its clock moves by these times alone (fake_clock.c, preloaded), so that no machine's speed is in
 * its trace. The recorder is the real one; CUPTI and the driver are those of the tests.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/recorder/cuda/fake.h"
#include "tests/support/recorder/nvtx_module.h"

#define LATENCY 9000
#define QUEUE   1200
#define RETURN  3000 /* of a call that has waited */
#define STREAMS 16

static int64_t (*move)(int64_t ns);
static __typeof__(&fake_cupti_planted) planted;
static __typeof__(&fake_cupti_function) function, away;
static int64_t free_ns[STREAMS]; /* when each stream is */
static void *cuda;
static struct fake_graph *graphs['Z' + 1];

static void *must_find(void *library, const char *name)
{
	void *found = dlsym(library, name);

	if (!found) {
		fprintf(stderr, "planted: no %s\n", name);
		exit(99);
	}
	return found;
}

static void start_cuda(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);
	const char *cupti = getenv("WARPSHEET_CUPTI_PATH");
	fake_init init;

	if (!driver || !cupti)
		exit(98);
	/* from here on this thread's clocks differ by a constant, which the recorder reads first */
	*(void **)&move = must_find(RTLD_DEFAULT, "fake_clock_move");
	move(0);
	*(void **)&init = must_find(driver, "cuInit");
	init(0);
	cuda = driver;
	*(void **)&planted = must_find(dlopen(cupti, RTLD_NOW | RTLD_NOLOAD), "fake_cupti_planted");
	*(void **)&function =
	        must_find(dlopen(cupti, RTLD_NOW | RTLD_NOLOAD), "fake_cupti_function");
	*(void **)&away = must_find(dlopen(cupti, RTLD_NOW | RTLD_NOLOAD), "fake_cupti_turned");
	nvtx_attach();
}

static int64_t later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static void launch(const char *name, unsigned stream, int64_t call_ns, int64_t ns)
{
	const int64_t start_ns = later(move(0) + LATENCY, free_ns[stream] + QUEUE);

	/* CUPTI keeps names for good */
	planted(strdup(name), stream, (uint64_t)call_ns, (uint64_t)(start_ns - move(0)),
	        (uint64_t)ns);
	free_ns[stream] = start_ns + ns;
	move(call_ns);
}

static void wait_for_device(void)
{
	int64_t end_ns = move(0);

	for (unsigned s = 0; s < STREAMS; s++)
		end_ns = later(end_ns, free_ns[s]);
	end_ns += RETURN;
	planted(NULL, 0, (uint64_t)(end_ns - move(0)), 0, 0);
	move(end_ns - move(0));
}

/* --- graphs --- */

static struct fake_graph *graph(char letter)
{
	struct fake_graph **g = &graphs[letter >= 'A' && letter <= 'Z' ? letter : 'A'];
	fake_graph_make make;

	*(void **)&make = must_find(cuda, "cuGraphCreate");
	if (!*g)
		make(g);
	return *g;
}

static void capture(char letter, const char *name, long long ns)
{
	fake_graph_add add;

	*(void **)&add = must_find(cuda, "cuGraphAddKernelNode");
	add(graph(letter), strdup(name), (uint64_t)ns);
}

struct beside {
	char range[64], name[64], letter;
	long long ns;
};

static void *capture_beside(void *arg)
{
	struct beside *b = arg;

	nvtx.RangePushA(b->range);
	capture(b->letter, b->name, b->ns);
	nvtx.RangePop();
	return arg;
}

static const struct {
	const char *word, *function;
	bool copies;
} of_two[] = {{"child", "cuGraphAddChildGraphNode", false},
              {"body", "cuGraphAddNode", false},
              {"update", "cuGraphExecUpdate", false},
              {"clone", "cuGraphClone", true},
              {"instantiate", "cuGraphInstantiate", true}};

/* A word about one graph or two. */
static bool does_graphs(const char *word)
{
	char name[64], letter, other;
	fake_graph_with with;
	fake_graph_copy copy;
	fake_graph_do act;
	struct beside b;
	pthread_t thread;
	long long ns;

	if (!strcmp(word, "node") && scanf(" %c %63s %lld", &letter, name, &ns) == 3) {
		capture(letter, name, ns);
		move(1000);
		return true;
	}
	if (!strcmp(word, "beside") &&
	    scanf("%63s %c %63s %lld", b.range, &b.letter, b.name, &b.ns) == 4)
		return !pthread_create(&thread, NULL, capture_beside, &b) &&
		       !pthread_join(thread, NULL);
	if ((!strcmp(word, "function") || !strcmp(word, "away")) && scanf("%lld", &ns) == 1) {
		(*word == 'f' ? function : away)((uint64_t)ns);
		return true;
	}
	if (!strcmp(word, "replay") || !strcmp(word, "destroy")) {
		*(void **)&act = must_find(cuda, *word == 'r' ? "cuGraphLaunch" : "cuGraphDestroy");
		if (scanf(" %c", &letter) != 1)
			return false;
		act(graph(letter));
		move(1000);
		return true;
	}
	for (size_t i = 0; i < sizeof(of_two) / sizeof(*of_two); i++) {
		if (strcmp(word, of_two[i].word) != 0 || scanf(" %c %c", &letter, &other) != 2)
			continue;
		*(void **)&with = must_find(cuda, of_two[i].function);
		*(void **)&copy = must_find(cuda, of_two[i].function);
		if (of_two[i].copies)
			copy(&graphs[(unsigned char)other], graph(letter));
		else
			with(graph(letter), graph(other));
		move(1000);
		return true;
	}
	return false;
}

int main(void)
{
	char word[16], name[64];
	long long ns, call_ns;
	unsigned stream;

	start_cuda();
	while (scanf("%15s", word) == 1) {
		if (!strcmp(word, "step")) {
			nvtx.RangePushA("step");
		} else if (!strcmp(word, "end")) {
			nvtx.RangePop();
		} else if (!strcmp(word, "work") && scanf("%lld", &ns) == 1) {
			move(ns);
		} else if (!strcmp(word, "load") && scanf("%lld", &ns) == 1) {
			nvtx.RangePushA(
			        "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__");
			move(ns);
			nvtx.RangePop();
		} else if (!strcmp(word, "launch") &&
		           scanf("%63s %u %lld %lld", name, &stream, &call_ns, &ns) == 4) {
			launch(name, stream % STREAMS, call_ns, ns);
		} else if (!strcmp(word, "wait")) {
			wait_for_device();
		} else if (!strcmp(word, "range") && scanf("%63s", name) == 1) {
			nvtx.RangePushA(name);
		} else if (!does_graphs(word)) {
			fprintf(stderr, "planted: %s\n", word);
			return 97;
		}
	}
	return 0;
}
