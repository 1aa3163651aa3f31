"""Programs by NVIDIA's own headers of NVTX."""
import csv
import io
import os
import subprocess

SOURCE = r"""
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>

#define ID(n) ((1u << 24) + (n))
static nvtxDomainHandle_t domain;

static void add_schema(uint64_t id, const nvtxPayloadSchemaEntry_t *entries, size_t n, size_t size)
{
	nvtxPayloadSchemaAttr_t a = {0};

	a.fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
	              NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE |
	              NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_SCHEMA_ID;
	a.type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC;
	a.entries = entries;
	a.numEntries = n;
	a.payloadStaticSize = size;
	a.schemaId = id;
	nvtxPayloadSchemaRegister(domain, &a);
}

static void add_enum(uint64_t id, const nvtxPayloadEnum_t *entries, size_t n, size_t size)
{
	nvtxPayloadEnumAttr_t e = {0};

	e.fieldMask = NVTX_PAYLOAD_ENUM_ATTR_FIELD_ENTRIES | NVTX_PAYLOAD_ENUM_ATTR_FIELD_NUM_ENTRIES |
	              NVTX_PAYLOAD_ENUM_ATTR_FIELD_SIZE | NVTX_PAYLOAD_ENUM_ATTR_FIELD_SCHEMA_ID;
	e.entries = entries, e.numEntries = n, e.sizeOfEnum = size, e.schemaId = id;
	nvtxPayloadEnumRegister(domain, &e);
}
"""


def build(folder, source, compiler, include):
    """The program of this source, which may use what SOURCE has."""
    program = os.path.join(folder, "program")
    with open(program + ".c", "w", encoding="utf-8") as f:
        f.write(SOURCE + source)
    subprocess.run([compiler, "-w", "-isystem", include, f.name, "-o", program, "-ldl"], check=True)
    return program


def rows(*command):
    """The rows of the CSV that a command prints."""
    made = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [tuple(row) for row in csv.reader(io.StringIO(made.lstrip("\ufeff")))][1:]
