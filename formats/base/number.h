/* Numbers as text for programs: the same in every locale, nothing lost. */
#pragma once

#define WS_NUMBER_BYTES 32

/*
 * A finite value with as few digits, 15 to 17, as it takes to read it back
 * equal; a point for the decimal point. Returns buf.
 */
const char *ws_number_real(char buf[WS_NUMBER_BYTES], double value);
