/* A program built with NVIDIA's own NVTX headers, as everybody else's programs are. */
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>

struct work {
	uint64_t flops;
	uint16_t op;
};

static uint64_t register_work(nvtxDomainHandle_t domain)
{
	const nvtxPayloadSchemaEntry_t entries[] = {
	        {0, NVTX_PAYLOAD_ENTRY_TYPE_UINT64, "flops", NULL, 0, 0, NULL, NULL},
	        {0, NVTX_PAYLOAD_ENTRY_TYPE_UINT16, "op", NULL, 0, 8, NULL, NULL},
	};
	nvtxPayloadSchemaAttr_t attr = {0};

	attr.fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NAME | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE |
	                 NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
	                 NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES |
	                 NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE;
	attr.name = "work";
	attr.type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC;
	attr.entries = entries;
	attr.numEntries = 2;
	attr.payloadStaticSize = sizeof(struct work);
	return nvtxPayloadSchemaRegister(domain, &attr);
}

int main(void)
{
	nvtxDomainHandle_t domain = nvtxDomainCreateA("theirs");
	const struct work work = {123, 4};
	nvtxPayloadData_t data = {register_work(domain), sizeof(work), &work};
	nvtxEventAttributes_t attr = {0};

	attr.version = NVTX_VERSION;
	attr.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
	attr.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
	attr.message.registered = nvtxDomainRegisterStringW(domain, L"wörk");
	attr.payloadType = NVTX_PAYLOAD_TYPE_EXT;
	attr.reserved0 = 1;
	attr.payload.ullValue = (uint64_t)(uintptr_t)&data;
	nvtxRangePushA("outer");
	nvtxDomainRangePushEx(domain, &attr);
	nvtxDomainRangePop(domain);
	nvtxRangePop();
	return nvtxDomainIsEnabled(domain) ? 0 : 1;
}
