/* Numbers in payloads of any program. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "report/model/model.h"

static int64_t number(uint64_t type, const void *bytes, size_t len, int *ok)
{
	int64_t value = -77;

	*ok = ws_payload_number(type, bytes, len, &value);
	return value;
}

Test(payload_number, payload_numbers_have_the_sizes_and_signs_of_nvtx)
{
	static const uint8_t ones[8] = {255, 255, 255, 255, 255, 255, 255, 255};
	int ok;

	cr_expect(eq(i64, number(11, ones, 8, &ok), -1));
	cr_expect(eq(i64, number(12, ones, 8, &ok), 255));
	cr_expect(eq(i64, number(13, ones, 8, &ok), -1));
	cr_expect(eq(i64, number(14, ones, 8, &ok), 65535));
	cr_expect(eq(i64, number(15, ones, 8, &ok), -1));
	cr_expect(eq(i64, number(16, ones, 8, &ok), 4294967295));
	cr_expect(eq(i64, number(17, ones, 8, &ok), -1));
	cr_expect(ok);
	number(18, ones, 8, &ok);
	cr_expect(not(ok), "2^64 - 1 fits into no int64_t");
	number(17, ones, 7, &ok);
	cr_expect(not(ok), "the payload ends inside the number");
	number(20, ones, 8, &ok);
	cr_expect(not(ok), "a double is no whole number");
	number(999, ones, 8, &ok);
	cr_expect(not(ok));
}
