/* What a trace says about where it comes from; docs/provenance.md lists the keys. */
#pragma once

#include "recorder/drain/drain.h"
#include "recorder/launch/strings.h"

struct ws_provenance {
	const char *program;          /* path; NULL: not known */
	char *const *arguments;       /* of the program, NULL-terminated; NULL: not to be told */
	const char *options;          /* of the recording, quoted; NULL: not known */
	bool no_gpu;                  /* GPUs are not to be asked */
	uint32_t cpu_time_quantum_ns; /* 0 = none */
};

/*
 * X(key, meaning): every key of the recorder's `meta` rows. Nothing else about
 * the machine goes into a trace.
 */
#define WS_PROVENANCE_LIST(X)                                                                   \
	X("tool.name", "program that made the trace")                                           \
	X("tool.version", "its version")                                                        \
	X("record.start_utc", "when the recording began")                                       \
	X("record.options", "capture options as given")                                         \
	X("record.cpu_time_quantum_ns", "times of API calls and NVTX events are rounded to it") \
	X("record.salvaged", "1: finished by --salvage after the launcher was killed")          \
	X("record.merged", "traces that --merge put together")                                  \
	X("record.outside_window", "events left out: see --delay, --capture-range")             \
	X("clock.base_ns", "CLOCK_MONOTONIC at time 0")                                         \
	X("clock.boot", "of the machine: the boot that this clock counts from")                 \
	X("clock.times", "the clock that the times are of")                                     \
	X("clock.slew_ppm", "how much faster it ran than CLOCK_MONOTONIC_RAW")                  \
	X("clock.largest_step_ns", "of CLOCK_REALTIME; absent when nobody set it")              \
	X("clock.realtime_apart_ns", "by how much it was set in all; absent likewise")          \
	X("clock.cupti_apart_ns", "CUPTI's clock less CLOCK_REALTIME, the farthest")            \
	X("program.path", "the program that was started")                                       \
	X("program.arguments", "its arguments, quoted for a shell; absent with --no-args")      \
	X("process.rank", "number of this process among those of a distributed program")        \
	X("process.local_rank", "its number on this machine")                                   \
	X("process.world_size", "how many there are")                                           \
	X("gpu.readings", "why nothing was read of GPUs; absent when it was")                   \
	X("gpu.driver_version", "of the NVIDIA driver")                                         \
	X("gpu.N.name", "GPU N, as nvidia-smi numbers them")                                    \
	X("gpu.N.pci_bus", "its place; device_attr rows have it too")                           \
	X("gpu.N.power_limit_mw", "power that it may take")                                     \
	X("gpu.N.start.sm_clock_mhz", "clock when the trace began")                             \
	X("gpu.N.start.memory_clock_mhz", "clock of its memory")                                \
	X("gpu.N.start.power_mw", "power that it took")                                         \
	X("gpu.N.start.temperature_c", "temperature")                                           \
	X("gpu.N.start.throttle", "what held the clocks down, or none")                         \
	X("gpu.N.end.sm_clock_mhz", "and when it ended")                                        \
	X("gpu.N.end.memory_clock_mhz", "likewise")                                             \
	X("gpu.N.end.power_mw", "likewise")                                                     \
	X("gpu.N.end.temperature_c", "likewise")                                                \
	X("gpu.N.end.throttle", "likewise")                                                     \
	X("library.cublas", "version of cuBLAS in the program")                                 \
	X("library.cublaslt", "of cuBLASLt")                                                    \
	X("library.cudnn", "of cuDNN")                                                          \
	X("library.nccl", "of NCCL")                                                            \
	X("cupti.version", "of CUPTI")                                                          \
	X("cuda.driver_version", "CUDA version that the driver supports")                       \
	X("cuda.runtime_version", "of the CUDA runtime library")                                \
	X("host.kernel", "operating system and release")                                        \
	X("host.machine", "processor architecture")                                             \
	X("host.cpu", "processor model")                                                        \
	X("host.cores", "processors that are online")                                           \
	X("collector.modules", "ELF modules of the program that attached to the collector")     \
	X("collector.images", "program images that were recorded: 1, and one more for each exec")

/* The rows known before the program starts. */
void ws_provenance_begin(struct ws_drain *d, const struct ws_provenance *p,
                         const struct ws_seg_header *seg);
/*
 * The rows known of the process that attached, by its environment: ranks, as
 * numbers of at most nine digits; anything else is not taken.
 */
void ws_provenance_process(struct ws_drain *d, struct ws_strings env);
/* The rows known when it has ended. */
void ws_provenance_end(struct ws_drain *d, const struct ws_seg_header *seg, int salvaged);

/* Arguments quoted for a POSIX shell, joined by blanks. NULL when out of memory; free() it. */
char *ws_quote(char *const *arguments);
