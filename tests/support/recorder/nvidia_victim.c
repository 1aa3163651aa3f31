/*
 * A program built with NVIDIA's own NVTX headers, as everybody else's programs are. With an
 * argument it also says what is no event: names, memory, synchronization, clocks.
 */
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtCuda.h>
#include <nvtx3/nvToolsExtCudaRt.h>
#include <nvtx3/nvToolsExtMem.h>
#include <nvtx3/nvToolsExtMemCudaRt.h>
#include <nvtx3/nvToolsExtPayload.h>
#include <nvtx3/nvToolsExtSync.h>

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

#define HANDLE(type, n) ((type)(uintptr_t)(n))

static void say_names(nvtxDomainHandle_t domain)
{
	nvtxResourceAttributes_t attr = {0};

	nvtxNameCuDeviceA(0, "first device");
	nvtxNameCuContextA(HANDLE(CUcontext, 0x10), "context");
	nvtxNameCuStreamA(HANDLE(CUstream, 0x20), "copies");
	nvtxNameCudaEventW(HANDLE(cudaEvent_t, 0x30), L"évent");
	attr.version = NVTX_VERSION;
	attr.size = NVTX_RESOURCE_ATTRIB_STRUCT_SIZE;
	attr.identifierType = NVTX_RESOURCE_TYPE_SYNC_PTHREAD_MUTEX;
	attr.identifier.ullValue = 0x40;
	attr.messageType = NVTX_MESSAGE_TYPE_ASCII;
	attr.message.ascii = "lock";
	nvtxDomainResourceDestroy(nvtxDomainResourceCreate(domain, &attr));
}

static void say_memory(nvtxDomainHandle_t domain)
{
	nvtxMemHeapDesc_t desc = {0};
	nvtxMemVirtualRangeDesc_t ranges[12] = {{0}};
	nvtxMemRegionsRegisterBatch_t regions = {0};
	nvtxMemHeapHandle_t heap;

	desc.extCompatID = NVTX_EXT_COMPATID_MEM;
	desc.structSize = sizeof(desc);
	heap = nvtxMemHeapRegister(domain, &desc);
	regions.extCompatID = NVTX_EXT_COMPATID_MEM;
	regions.structSize = sizeof(regions);
	regions.heap = heap;
	regions.regionCount = 12;
	regions.regionDescElementSize = sizeof(*ranges);
	regions.regionDescElements = ranges;
	nvtxMemRegionsRegister(domain, &regions);
	nvtxMemCudaGetProcessWidePermissions(domain);
	nvtxMemHeapUnregister(domain, heap);
}

static void say_the_rest(nvtxDomainHandle_t domain)
{
	nvtxSyncUserAttributes_t attr = {0};
	nvtxScopeAttr_t scope = {0};
	nvtxTimeDomainAttr_t time_domain = {0};
	nvtxSyncUser_t sync = nvtxDomainSyncUserCreate(domain, &attr);

	nvtxDomainSyncUserAcquireStart(sync);
	nvtxDomainSyncUserAcquireSuccess(sync);
	nvtxDomainSyncUserReleasing(sync);
	nvtxDomainSyncUserDestroy(sync);
	scope.structSize = sizeof(scope);
	scope.path = "node[0]";
	nvtxScopeRegister(domain, &scope);
	nvtxTimeDomainRegister(domain, &time_domain);
	nvtxTimeSyncPoint(domain, 1, 2, 3, 4);
}

int main(int argc, char **argv)
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
	(void)argv;
	if (argc > 1) {
		say_names(domain);
		say_memory(domain);
		say_the_rest(domain);
	}
	return nvtxDomainIsEnabled(domain) ? 0 : 1;
}
