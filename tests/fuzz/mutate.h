/* What the targets that read a trace share: mutations that keep its structure. */
#pragma once

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
/* libFuzzer's own mutation of bytes. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
/* What libFuzzer calls in place of it, where a target defines it. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);

/* mutate(data, size, max_size): LLVMFuzzerMutate, or one that a test plays. */
typedef size_t (*fuzz_mutate_fn)(uint8_t *data, size_t size, size_t max_size);

/*
 * Change a trace at data: any bytes; or those of one column, with the lengths around it made right;
 * or a field of a header or directory entry; or whole blocks, twice, away or in another order. All
 * checksums are right afterwards, so that the change reaches what reads it. Returns the new size.
 */
size_t fuzz_mutate_trace(uint8_t *data, size_t size, size_t max_size, unsigned seed,
                         fuzz_mutate_fn mutate);
/* The same of one block by itself: header and body. */
size_t fuzz_mutate_block(uint8_t *data, size_t size, size_t max_size, unsigned seed,
                         fuzz_mutate_fn mutate);
