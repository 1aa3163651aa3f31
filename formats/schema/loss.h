/* Loss counters: what a recording can lose. The recorder counts the losses, the file has them as
 * `loss` rows, the reports explain them. */
#pragma once

/* X(name, meaning) for every way in which something can get lost. The names are those of the `loss`
 * rows; each counts up from the start of the run. */
#define WS_DROPPED_LIST(X)                                                                         \
	X(ring_overflow, "events dropped because the ring of their thread was full, and events "   \
	                 "inside a range whose push was dropped")                                  \
	X(thread_without_ring, "events of threads for which no ring was left")                     \
	X(text_truncated, "messages cut or left out because they were too long")                   \
	X(payload_truncated, "payloads left out or not copied in full")                            \
	X(unmatched_pop, "pops without a push")                                                    \
	X(unknown_record, "records in the segment that could not be understood")                   \
	X(process_not_recorded,                                                                    \
	  "processes not recorded: no shared memory left, or end not visible")                     \
	X(definition_overflow, "definitions, and events that need them, beyond the room for them") \
	X(deferred_event, "events and batches submitted with a time of their own")                 \
	X(disk_full, "rows of events that could not be written")                                   \
	X(activity_refused, "times CUPTI got no buffer, as all were full; each drops records")     \
	X(activity_dropped, "records that CUPTI says it dropped")                                  \
	X(activity_damaged, "invalid GPU records, and the rest of their buffers")                  \
	X(activity_unknown, "GPU records of a kind that this program does not know, and buffers "  \
	                    "of records of unknown sizes")                                         \
	X(activity_error, "errors that CUPTI reported while recording")                            \
	X(kernel_without_time, "kernels whose times CUPTI could not measure; they are counted, "   \
	                       "but not in sums of time")                                          \
	X(kernel_without_name, "kernels whose names were not recorded; they are called by an "     \
	                       "address that is valid in one run only")                            \
	X(launch_without_work, "launches of which no work on a device was recorded")               \
	X(launch_not_told, "launches that CUPTI reported to another profiler in the program")      \
	X(clock_step, "changes of the real-time clock while recording: later dates shift, times "  \
	              "in the trace do not")                                                       \
	X(event_interrupted, "events in whose recording a signal handler came and did not return") \
	X(time_uncertain, "GPU records whose times can be wrong by a step of the real-time clock") \
	X(nvtx_not_kept_counters, "NVTX counters, or fields of their groups, that are no numbers " \
	                          "of a fixed place, or had no room")                              \
	X(nvtx_not_kept_counter_samples, "samples of NVTX counters that were not registered, too " \
	                                 "short, or not of the recorded time")                     \
	X(nvtx_not_kept_counter_batches, "batches of samples of NVTX counters that were not "      \
	                                 "registered, or with times of an unknown clock")          \
	X(nvtx_not_kept_memory_heaps, "NVTX calls about heaps of memory")                          \
	X(nvtx_not_kept_memory_regions, "regions of memory in NVTX calls")                         \
	X(nvtx_not_kept_memory_permissions, "NVTX calls about permissions for memory, and "        \
	                                    "regions that they name")                              \
	X(nvtx_not_kept_sync_objects, "NVTX calls about synchronization objects of the program's " \
	                              "own")                                                       \
	X(nvtx_not_kept_scopes, "NVTX scopes that had no room, or whose id is reserved")           \
	X(nvtx_not_kept_time_domains, "NVTX calls about clocks of the program's own")              \
	X(nvtx_not_kept_schema_details, "semantics of NVTX fields and counters that this program " \
	                                "does not know")                                           \
	X(nvtx_not_kept_extensions, "NVTX extensions that this program does not know: what they "  \
	                            "say is not counted")                                          \
	X(pytorch_without_shapes,                                                                  \
	  "PyTorch operations recorded by name only: it is not proved how "                        \
	  "this PyTorch keeps their inputs, or there was no room")                                 \
	X(pytorch_without_numbers,                                                                 \
	  "PyTorch operations recorded without the values of their numbers, which differ from "    \
	  "call to call, as half of the room for definitions was used")                            \
	X(pytorch_unfinished, "PyTorch operations of which no end was seen on their thread")       \
	X(gpu_sample_failed, "values of GPUs that NVML gave before and then did not, and samples " \
	                     "that came too late")

/* The same for imports: kinds of damage of the input. */
#define WS_IMPORT_LOSS_LIST(X)                                                                  \
	X(import_unreadable, "records whose text cannot be read")                               \
	X(import_cut_off, "records cut off where the input ends")                               \
	X(import_bad_time, "records whose times are missing, reversed or out of bounds")        \
	X(import_bad_value, "records with a value of the wrong type, or a negative device")     \
	X(import_missing_field, "records that lack what their kind needs")                      \
	X(import_damaged_table, "tables that cannot be read to their end")                      \
	X(import_unknown_kind, "records of a category or phase that this program does not "     \
	                       "know")                                                          \
	X(import_merged_ranks, "the process of device work: the file merges several ranks, "    \
	                       "so this work is in no range. Import each rank's own file")      \
	X(import_cut_text, "the rest of texts longer than 16 MiB")                              \
	X(import_begin_without_end, "begins of ranges and events whose end is not in the file") \
	X(import_end_without_begin, "ends of ranges and events whose begin is not in the file") \
	X(import_duplicate,                                                                     \
	  "ranges and operations that stand twice, equal in every field: they count once")

enum ws_dropped {
#define X(name, meaning) WS_DROPPED_##name,
	WS_DROPPED_LIST(X)
#undef X
	        WS_DROPPED_COUNT
};
