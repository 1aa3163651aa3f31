/*
 * A CUDA driver and a CUPTI for tests: libcuda.so.1 loads the tool as the real
 * one does and "launches" by telling the fake CUPTI, which writes records as
 * the real one does: a buffer for each thread, handed over by a thread of its
 * own. What they do otherwise is said by the environment:
 *
 *   FAKE_CUPTI_VERSION      130001
 *   FAKE_CUPTI_KERNEL_SIZE  216, 248 from 13.4 on; 232: fields were appended; 208: of 12.x
 *   FAKE_CUPTI_SUBSCRIBE    result of cuptiSubscribe: 39: another tool is there
 *   FAKE_CUPTI_ZERO_EVERY   each n-th kernel has no times
 *   FAKE_CUPTI_LOSE_EVERY   each n-th kernel is not told of
 *   FAKE_CUPTI_RUN_EVERY    each n-th kernel has a start and no end: it ran when asked for
 *   FAKE_CUPTI_QUERIES      1: each launch is followed by a query of its stream, as a wait
 *   FAKE_CUPTI_ALL_SYNC     1: such records cannot be switched off
 *   FAKE_CUPTI_KERNEL_US    how long a kernel runs. No record may be switched off while one does,
 * as it would be lost FAKE_CUPTI_BUSY         1: a flush that is not forced gives back no buffer
 * with kernels FAKE_CUPTI_FLUSH_MS     how long a flush takes FAKE_CUPTI_HOLD_MS      how long a
 * flush that is not forced keeps a buffer with kernels FAKE_CUPTI_REQUEST_US   how long before it
 * asks for a buffer it read its first time FAKE_CUPTI_RAW_PPM      its clock is
 * CLOCK_MONOTONIC_RAW, as under WSL2, and drifts so much FAKE_CUPTI_LATE_SIZES   1: before there is
 * a context it steps to no record, as from 13.2 on FAKE_CUPTI_NO_DEVICE    1: it tells of no device
 *   FAKE_CUPTI_OVERHEAD     1: each flush brings a full command buffer, whose description is to be
 *                           freed, else it counts as a record that was dropped; 2: with none
 *   FAKE_CUPTI_REFUSE_CALL  number of a call of the runtime whose records are refused
 *   FAKE_CUPTI_REFUSE_KIND  number of a kind of 13.1 that is refused
 *   FAKE_CUPTI_REFUSE_ATTR  number of an attribute that is refused
 *   FAKE_CUPTI_FATAL_AT     after so many kernels: a fatal error, then nothing may be called
 *   FAKE_CUPTI_FOREIGN      1: each flush also gives back a buffer that is not the tool's
 *   FAKE_CUPTI_SCOPES       0: no activities for each subscriber, though the version has them
 *   FAKE_CUPTI_HW_TRACE     result of enabling it
 *   FAKE_CUDA_MAJOR         compute capability of the GPU: 10
 *   FAKE_CUDA_INIT_MS       how long cuInit goes on after the tool was loaded
 *
 * As in CUPTI 13.0, buffers may be registered again, by anybody: the records go there then;
 * no record tells of a flush; flushing before there is a context, or while CUDA is torn
 * down, ends the program.
 */
#pragma once

#include <stdint.h>

/* The driver: found with dlsym in libcuda.so.1. */
typedef int (*fake_init)(unsigned flags);                                   /* cuInit */
typedef int (*fake_launch)(const char *name, uint64_t node, unsigned grid); /* cuLaunchKernel */
typedef int (*fake_reset)(void); /* cudaDeviceReset: what was not flushed is gone */

typedef int (*fake_capture)(void); /* cuStreamBeginCapture, cuStreamEndCapture */

/* Graphs, whose functions have the driver's names and fewer parameters. A node's id is never used
 * again, as CUPTI's. */
struct fake_node {
	uint64_t id, source; /* source: id of the node of a graph that was instantiated here */
	const char *name;
	uint64_t dur_ns;
};
struct fake_graph {
	uint32_t id;
	size_t n, nbodies;
	struct fake_node *node[16];
	struct fake_graph *body[4]; /* of conditional nodes */
};
typedef int (*fake_graph_make)(struct fake_graph **graph); /* cuGraphCreate */
/* cuGraphAddKernelNode, or a launch that is captured */
typedef int (*fake_graph_add)(struct fake_graph *graph, const char *name, uint64_t dur_ns);
/* cuGraphAddChildGraphNode, cuGraphAddNode (conditional, whose body it is), cuGraphExecUpdate */
typedef int (*fake_graph_with)(struct fake_graph *graph, struct fake_graph *other);
typedef int (*fake_graph_copy)(struct fake_graph **copy,
                               struct fake_graph *of);  /* cuGraphClone,
                                                         cuGraphInstantiate */
typedef int (*fake_graph_do)(struct fake_graph *graph); /* cuGraphLaunch, cuGraphDestroy */

/* CUPTI: what the driver tells it, found with dlsym too. */
void fake_cupti_capture(int begins);
void fake_cupti_asked_version(void);
void fake_cupti_synchronized(void); /* cuCtxSynchronize */
void fake_cupti_context(void);
void fake_cupti_launched(const char *name, uint64_t node, unsigned grid);
/* A launch that takes the host call_ns, and its kernel, which begins later_ns from now; no name: a
 * wait for the device that takes call_ns. */
void fake_cupti_planted(const char *name, uint32_t stream, uint64_t call_ns, uint64_t later_ns,
                        uint64_t dur_ns);
/* A node was made, copied (cbid 20) or updated (22). */
void fake_cupti_node(uint32_t cbid, struct fake_graph *graph, struct fake_node *node,
                     struct fake_node *original);
/* A graph is launched: one call, and its kernels one after another, or one record of the whole if
 * that is requested. */
void fake_cupti_replayed(struct fake_graph *exec, struct fake_node *const *nodes, size_t n);
/* A function of the host in the order of a stream; the GPU turns away for a while. From 13.1 on. */
void fake_cupti_function(uint64_t dur_ns);
void fake_cupti_turned(uint64_t away_ns);
void fake_cupti_reset(void);
void fake_cupti_profiler(int start);
