/* Graphs of libcuda.so.1 for tests: see fake.h. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "recorder/shared/cupti_abi.h"
#include "tests/recorder/cuda/fake_tool.h"

static _Atomic uint64_t next_id = 1000;

static void tell(uint32_t cbid, struct fake_graph *graph, struct fake_node *node,
                 struct fake_node *original)
{
	if (fake_tool()->node)
		fake_tool()->node(cbid, graph, node, original);
}

/* original NULL: it is captured. */
static void add_node(struct fake_graph *graph, const char *name, uint64_t dur_ns,
                     struct fake_node *original)
{
	struct fake_node *node = calloc(1, sizeof(*node));

	*node = (struct fake_node){.id = atomic_fetch_add(&next_id, 1),
	                           .source = original ? original->id : 0,
	                           .name = name,
	                           .dur_ns = dur_ns};
	graph->node[graph->n++] = node;
	tell(original ? WS_CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED
	              : WS_CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED,
	     graph, node, original);
}

static void add_copies(struct fake_graph *graph, struct fake_graph *of)
{
	for (size_t i = 0; i < of->n; i++)
		add_node(graph, of->node[i]->name, of->node[i]->dur_ns, of->node[i]);
	for (size_t i = 0; i < of->nbodies; i++)
		add_copies(graph, of->body[i]);
}

int cuGraphCreate(struct fake_graph **graph);
int cuGraphCreate(struct fake_graph **graph)
{
	*graph = calloc(1, sizeof(**graph));
	(*graph)->id = (uint32_t)atomic_fetch_add(&next_id, 1);
	return 0;
}

int cuGraphAddKernelNode(struct fake_graph *graph, const char *name, uint64_t dur_ns);
int cuGraphAddKernelNode(struct fake_graph *graph, const char *name, uint64_t dur_ns)
{
	add_node(graph, name, dur_ns, NULL);
	return 0;
}

/* Its nodes are copied when it is added. */
int cuGraphAddChildGraphNode(struct fake_graph *graph, struct fake_graph *child);
int cuGraphAddChildGraphNode(struct fake_graph *graph, struct fake_graph *child)
{
	add_copies(graph, child);
	return 0;
}

/* A conditional node: its body is a graph of its own, and copied when the graph is instantiated. */
int cuGraphAddNode(struct fake_graph *graph, struct fake_graph *body);
int cuGraphAddNode(struct fake_graph *graph, struct fake_graph *body)
{
	graph->body[graph->nbodies++] = body;
	return 0;
}

int cuGraphClone(struct fake_graph **copy, struct fake_graph *of);
int cuGraphClone(struct fake_graph **copy, struct fake_graph *of)
{
	cuGraphCreate(copy);
	add_copies(*copy, of);
	return 0;
}

int cuGraphInstantiate(struct fake_graph **exec, struct fake_graph *of);
int cuGraphInstantiate(struct fake_graph **exec, struct fake_graph *of)
{
	return cuGraphClone(exec, of);
}

/* The nodes of the executable graph remain, and do what those of the other one do. */
int cuGraphExecUpdate(struct fake_graph *exec, struct fake_graph *by);
int cuGraphExecUpdate(struct fake_graph *exec, struct fake_graph *by)
{
	for (size_t i = 0; i < exec->n; i++) {
		exec->node[i]->name = by->node[i]->name;
		exec->node[i]->dur_ns = by->node[i]->dur_ns;
		exec->node[i]->source = by->node[i]->id;
		tell(WS_CUPTI_CBID_RESOURCE_GRAPH_NODE_UPDATED, exec, exec->node[i], by->node[i]);
	}
	return 0;
}

int cuGraphLaunch(struct fake_graph *exec);
int cuGraphLaunch(struct fake_graph *exec)
{
	if (fake_tool()->replayed)
		fake_tool()->replayed(exec, exec->node, exec->n);
	return 0;
}

/* CUDA may use the memory of its nodes again. */
int cuGraphDestroy(struct fake_graph *graph);
int cuGraphDestroy(struct fake_graph *graph)
{
	for (size_t i = 0; i < graph->n; i++) {
		memset(graph->node[i], 0, sizeof(*graph->node[i]));
		free(graph->node[i]);
	}
	memset(graph, 0, sizeof(*graph));
	return 0;
}
