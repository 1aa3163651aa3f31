/* What a step is, without running it: `warpsheet-step --describe`. */
#pragma once

#include <stdio.h>

#include "kernels/run/step.h"

/*
 * Parameters, FLOPs and bytes of each phase, device memory, and every op with
 * shapes and dtypes. Builds the graph only: no tensor is allocated. Output
 * errors are the caller's to check (ferror).
 */
enum ws_status ws_describe(const struct ws_step_options *options, FILE *out, struct ws_err *err);

/* The path of a scope below its phase: "layer 3/computing softmax". */
void ws_describe_scope(FILE *out, const struct ws_scope *scope);

/*
 * Which dtype everything has (`warpsheet-step --print-dtypes`): a row for each parameter with the
 * dtype of its gradient and of what the optimizer updates (its master, where it has one), for the
 * result of each op of the forward and loss phases with what the op reads, for the logits and the
 * loss. Builds the graph only. Output errors are the caller's to check (ferror).
 */
enum ws_status ws_dtypes_print(const struct ws_step_options *options, FILE *out,
                               struct ws_err *err);
