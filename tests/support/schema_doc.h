/* The parts of docs/dev/trace-format.md that are made from the tables in formats/. */
#pragma once

#include <stdio.h>

/* Section 3.1: a table for each kind of schema.def. */
void ws_schema_doc_print_kinds(FILE *f);
/* Section 3.2: which columns define ids, and which name them. */
void ws_schema_doc_print_references(FILE *f);
