"""Payloads as NCCL attaches them, by NVIDIA's own headers: nccl_payloads.py CC NVTX_INCLUDE WARPSHEET_RECORD WARPSHEET

A program with NCCL's domain, schemas, ids and ranges (NCCL 2.30: no schema has a name, the communicator comes with
the pop of its creation) is recorded as two ranks. Every value, and every damage, is in `payload_value`.
"""
import os
import subprocess
import sys
import tempfile

import nvtx_program

SOURCE = r"""
#include <stdlib.h>

struct init { uint64_t communicator; int ranks, rank, device; };
struct reduce { uint64_t communicator; size_t bytes; int op; };

static void push(const char *name, uint64_t schema, const void *payload, size_t size)
{
	nvtxPayloadData_t data = {schema, size, payload};
	nvtxEventAttributes_t a = {0};

	a.version = NVTX_VERSION;
	a.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
	a.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
	a.message.registered = nvtxDomainRegisterStringA(domain, name);
	if (payload) {
		a.payloadType = NVTX_PAYLOAD_TYPE_EXT;
		a.reserved0 = 1;
		a.payload.ullValue = (uint64_t)(uintptr_t)&data;
	}
	nvtxDomainRangePushEx(domain, &a);
}

int main(void)
{
	static const nvtxPayloadEnum_t ops[] = {{"Sum", 0, 0}, {"Avg", 4, 0}};
	const nvtxPayloadSchemaEntry_t inits[] = {{0, NVTX_PAYLOAD_ENTRY_TYPE_UINT64, "NCCL communicator ID"},
	                                          {0, NVTX_PAYLOAD_ENTRY_TYPE_INT, "No. of ranks"},
	                                          {0, NVTX_PAYLOAD_ENTRY_TYPE_INT, "Rank"},
	                                          {0, NVTX_PAYLOAD_ENTRY_TYPE_INT, "CUDA device"}};
	const nvtxPayloadSchemaEntry_t reduces[] = {{0, NVTX_PAYLOAD_ENTRY_TYPE_UINT64, "NCCL communicator ID"},
	                                            {0, NVTX_PAYLOAD_ENTRY_TYPE_SIZE, "Message size [bytes]"},
	                                            {0, ID(24), "Reduction operation"}};
	struct init init = {0xf100000000000007, 2, atoi(getenv("RANK")), 0};
	struct reduce avg = {0xf100000000000007, 1048576, 4}, other = {0xf100000000000007, 64, 3};
	nvtxPayloadData_t popped = {ID(0), sizeof(init), &init};

	domain = nvtxDomainCreateA("NCCL");
	add_enum(ID(24), ops, 2, sizeof(int));
	add_schema(ID(0), inits, 4, sizeof(init));
	add_schema(ID(5), reduces, 3, sizeof(avg));

	push("ncclCommInitRank", 0, NULL, 0);
	nvtxRangePopPayload(domain, &popped, 1);
	push("ncclAllReduce", ID(5), &avg, sizeof(avg));
	nvtxDomainRangePop(domain);
	push("no such entry", ID(5), &other, sizeof(other));
	nvtxDomainRangePop(domain);
	push("too short", ID(5), &avg, 12);
	nvtxDomainRangePop(domain);
	push("no such schema", ID(77), &avg, sizeof(avg));
	nvtxDomainRangePop(domain);
	return 0;
}
"""
COMMUNICATOR = str(0xf100000000000007)


def expected(rank):
    yield from (("pop", "ncclCommInitRank", field, value, "") for field, value in (
        ("NCCL communicator ID", COMMUNICATOR), ("No. of ranks", "2"), ("Rank", str(rank)), ("CUDA device", "0")))
    for name, size, op, problem in (("ncclAllReduce", "1048576", "Avg", ""), ("no such entry", "64", "3", "the enumeration has no such entry")):
        yield "push", name, "NCCL communicator ID", COMMUNICATOR, ""
        yield "push", name, "Message size [bytes]", size, ""
        yield "push", name, "Reduction operation", op, problem
    yield "push", "too short", "NCCL communicator ID", COMMUNICATOR, ""
    yield "push", "too short", "Message size [bytes]", "", "the payload ends before it"
    yield "push", "too short", "Reduction operation", "", "the payload ends before it"
    yield "push", "no such schema", "", "", "its schema is missing in the trace"


def main(compiler, include, record, warpsheet):
    with tempfile.TemporaryDirectory() as folder:
        program = nvtx_program.build(folder, SOURCE, compiler, include)
        for rank in range(2):
            trace = os.path.join(folder, f"run.rank{rank}.wtrace")
            subprocess.run([record, "-o", os.path.join(folder, "run.wtrace"), "--", program], check=True, capture_output=True,
                           env={**os.environ, "RANK": str(rank), "WORLD_SIZE": "2"})
            rows = nvtx_program.rows(warpsheet, "query", trace, "SELECT type, name, field, value, problem FROM payload_value WHERE domain = 'NCCL'",
                                     "--format", "csv")
            if rows != list(expected(rank)):
                sys.exit(f"rank {rank} has {rows}")


main(*sys.argv[1:])
