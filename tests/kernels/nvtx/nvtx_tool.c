/*
 * A small NVTX tool, loaded through NVTX_INJECTION64_PATH by the tests of
 * kernels/nvtx/client.h. It writes what it is told as lines into the file that
 * WS_TEST_NVTX_LOG names, and decodes payloads by the schemas registered with
 * it, knowing nothing of Warpsheet's.
 *
 * WS_TEST_NVTX_MODE: "refuse" declines after having set its functions,
 * "no-payload" declines the payload extension.
 */
#include <pthread.h>
#include <stdbool.h>

#include "kernels/nvtx/abi.h"

__attribute__((visibility("default"))) int InitializeInjectionNvtx2(wsn_get_export_table get);
__attribute__((visibility("default"))) int
InitializeInjectionNvtxExtension(struct wsn_ext_module *module);

#define MAX 16

struct wsn_domain_st {
	char name[64];
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static FILE *file;
static struct wsn_domain_st domains[MAX];
static int domain_count;
/* the client's tables are static: they may be kept */
static struct wsn_schema_attr schemas[MAX];
static struct wsn_enum_attr enums[MAX];
static int schema_count, enum_count;

static bool mode_is(const char *mode)
{
	const char *value = getenv("WS_TEST_NVTX_MODE");

	return value && !strcmp(value, mode);
}

static const char *domain_name(wsn_domain domain)
{
	return domain ? domain->name : "default";
}

/* --- payloads ------------------------------------------------------------------------ */

static const char *enum_name(const struct wsn_enum_attr *of, uint64_t value)
{
	for (size_t i = 0; i < of->num_entries; i++)
		if (of->entries[i].value == value)
			return of->entries[i].name;
	return "?";
}

static void print_entry(const struct wsn_schema_entry *entry, const unsigned char *at)
{
	uint64_t u64;
	uint32_t u32;
	int32_t i32;

	fprintf(file, "%s=", entry->name);
	for (int i = 0; i < enum_count; i++)
		if (enums[i].schema_id == entry->type && enums[i].size_of_enum == 1) {
			fprintf(file, "%s", enum_name(&enums[i], *at));
			return;
		}
	switch (entry->type) {
	case WSN_ENTRY_UINT64:
		memcpy(&u64, at, sizeof(u64));
		fprintf(file, "%llu", (unsigned long long)u64);
		break;
	case WSN_ENTRY_UINT32:
		memcpy(&u32, at, sizeof(u32));
		fprintf(file, "%u", u32);
		break;
	case WSN_ENTRY_INT32:
		memcpy(&i32, at, sizeof(i32));
		fprintf(file, "%d", i32);
		break;
	default:
		fprintf(file, "?type%llu", (unsigned long long)entry->type);
	}
}

static void print_payload(const struct wsn_payload_data *data)
{
	for (int i = 0; i < schema_count; i++) {
		const struct wsn_schema_attr *s = &schemas[i];

		if (s->schema_id != data->schema_id)
			continue;
		fprintf(file, "|%s%s", s->name,
		        s->payload_static_size == data->size ? "" : " WRONG SIZE");
		for (size_t j = 0; j < s->num_entries; j++) {
			fputs(j ? "," : ":", file);
			print_entry(&s->entries[j],
			            (const unsigned char *)data->payload + s->entries[j].offset);
		}
		return;
	}
	fprintf(file, "|unknown schema");
}

static void print_event(const char *what, wsn_domain domain, const struct wsn_event *event)
{
	pthread_mutex_lock(&mutex);
	fprintf(file, "%s %s|%s", what, domain_name(domain),
	        event->version == WSN_VERSION && event->size == sizeof(*event) &&
	                        event->message_type == WSN_MESSAGE_ASCII
	                ? event->message.ascii
	                : "BAD EVENT");
	switch (event->payload_type) {
	case WSN_PAYLOAD_UINT64:
		fprintf(file, "|u64:%llu", (unsigned long long)event->payload.ull);
		break;
	case WSN_PAYLOAD_INT64:
		fprintf(file, "|i64:%lld", (long long)event->payload.ll);
		break;
	case WSN_PAYLOAD_DOUBLE:
		fprintf(file, "|f64:%g", event->payload.d);
		break;
	case WSN_PAYLOAD_EXT:
		for (int i = 0; i < event->reserved0; i++)
			print_payload(
			        (const struct wsn_payload_data *)(uintptr_t)event->payload.ull + i);
		break;
	default:
		break;
	}
	fprintf(file, "\n");
	pthread_mutex_unlock(&mutex);
}

/* --- what the client calls --------------------------------------------------------------- */

static wsn_domain domain_create(const char *name)
{
	struct wsn_domain_st *domain;

	pthread_mutex_lock(&mutex);
	domain = &domains[domain_count++ % MAX];
	snprintf(domain->name, sizeof(domain->name), "%s", name);
	fprintf(file, "domain %s\n", name);
	pthread_mutex_unlock(&mutex);
	return domain;
}

static void mark(wsn_domain domain, const struct wsn_event *event)
{
	print_event("mark", domain, event);
}

static int push(wsn_domain domain, const struct wsn_event *event)
{
	print_event("push", domain, event);
	return 0;
}

static int pop(wsn_domain domain)
{
	pthread_mutex_lock(&mutex);
	fprintf(file, "pop %s\n", domain_name(domain));
	pthread_mutex_unlock(&mutex);
	return 0;
}

static uint64_t schema_register(wsn_domain domain, const struct wsn_schema_attr *attr)
{
	pthread_mutex_lock(&mutex);
	schemas[schema_count++ % MAX] = *attr;
	fprintf(file, "schema %s|%s|size:%zu\n", domain_name(domain), attr->name,
	        attr->payload_static_size);
	pthread_mutex_unlock(&mutex);
	return attr->schema_id;
}

static uint64_t enum_register(wsn_domain domain, const struct wsn_enum_attr *attr)
{
	(void)domain;
	pthread_mutex_lock(&mutex);
	enums[enum_count++ % MAX] = *attr;
	pthread_mutex_unlock(&mutex);
	return attr->schema_id;
}

/* --- attaching ------------------------------------------------------------------------------ */

int InitializeInjectionNvtx2(wsn_get_export_table get)
{
	const struct wsn_callbacks_table *callbacks = get(WSN_ETID_CALLBACKS);
	wsn_fn **table = NULL;
	unsigned int size = 0;

	file = fopen(getenv("WS_TEST_NVTX_LOG"), "a");
	if (!file || !callbacks || callbacks->struct_size < sizeof(*callbacks) ||
	    !callbacks->get_module_function_table(WSN_MODULE_CORE2, &table, &size) ||
	    size < WSN_CORE2_SIZE)
		return 0;
	setvbuf(file, NULL, _IOLBF, 0);
	fprintf(file, "attach\n");
	*table[WSN_CBID_DomainCreateA] = (wsn_fn)domain_create;
	*table[WSN_CBID_DomainMarkEx] = (wsn_fn)mark;
	*table[WSN_CBID_DomainRangePushEx] = (wsn_fn)push;
	*table[WSN_CBID_DomainRangePop] = (wsn_fn)pop;
	return !mode_is("refuse");
}

int InitializeInjectionNvtxExtension(struct wsn_ext_module *module)
{
	intptr_t *slots;

	if (module->module_id != WSN_EXT_PAYLOAD_MODULE || module->segments_count != 1)
		return 0;
	slots = module->segments[0].function_slots;
	slots[WSN_CBID_PayloadSchemaRegister] = (intptr_t)schema_register;
	slots[WSN_CBID_PayloadEnumRegister] = (intptr_t)enum_register;
	return !mode_is("no-payload");
}
