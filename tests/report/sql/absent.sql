-- Tables that an export lacks where a trace has no such records, and what oracle.py fills in.
CREATE TABLE IF NOT EXISTS CUPTI_ACTIVITY_KIND_RUNTIME (start, end, globalTid, correlationId, nameId, returnValue);
CREATE TABLE IF NOT EXISTS CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, streamId, correlationId, globalPid,
	demangledName, registersPerThread, gridX, gridY, gridZ, blockX, blockY, blockZ, staticSharedMemory, dynamicSharedMemory);
CREATE TABLE IF NOT EXISTS CUPTI_ACTIVITY_KIND_MEMCPY (start, end, deviceId, streamId, correlationId, globalPid, bytes, copyKind);
CREATE TABLE IF NOT EXISTS CUPTI_ACTIVITY_KIND_MEMSET (start, end, deviceId, streamId, correlationId, globalPid, bytes);
CREATE TABLE IF NOT EXISTS CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start, end, deviceId, streamId, correlationId, globalPid);
CREATE TABLE IF NOT EXISTS CUDA_GPU_MEMORY_USAGE_EVENTS (start);
CREATE TABLE IF NOT EXISTS NVTX_EVENTS (start, end, eventType, text, globalTid, domainId, eventId);
CREATE TABLE IF NOT EXISTS WARPSHEET_cpu_op (start_ns, dur_ns, thread, config, external_id, sequence, forward_thread);
CREATE TABLE IF NOT EXISTS WARPSHEET_op_config (id, name, kind, direction, dtype, cost, flops, bytes_read, bytes_written);
CREATE TABLE IF NOT EXISTS WARPSHEET_python_call (start_ns, dur_ns, thread, name, module);
CREATE TABLE IF NOT EXISTS WARPSHEET_external_link (correlation, kind, external_id);
CREATE TABLE IF NOT EXISTS WARPSHEET_flow (from_ns, from_thread, to_ns, to_thread);
CREATE TABLE IF NOT EXISTS WARPSHEET_device (id, name);
CREATE TABLE IF NOT EXISTS WARPSHEET_nvtx_payload (eventId, payload);
CREATE TABLE IF NOT EXISTS WARPSHEET_payload (id, schema, bytes);
CREATE TABLE IF NOT EXISTS WARPSHEET_payload_field (schema, name, type, offset_bytes);
CREATE TABLE IF NOT EXISTS WARPSHEET_payload_enum (id, size_bytes, entry, value);

-- Annotated operations by the event that began them; kinds of framework operations as
-- words; what names of kernels tell.
CREATE TEMP TABLE operation (event PRIMARY KEY, kind, direction, dtype, flops, bytes);
CREATE TEMP TABLE kernel_name (name PRIMARY KEY, class, direction, dtype, tensor);
CREATE TEMP TABLE op_config (id PRIMARY KEY, kind, direction, dtype, flops, bytes);
