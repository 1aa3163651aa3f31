/*
 * A traced program can cut its segment short, and memory can run out under one: then pages of it
 * are missing where the launcher reads or writes (SIGBUS).
 */
#pragma once

/* From now on a page of zeros comes in the place of each that is missing, and is counted. */
void ws_missing_pages_replace(void);
/* How many there were since this was last asked. */
unsigned ws_missing_pages(void);
