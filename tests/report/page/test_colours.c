/* Colours of pages: text on them is read, and they are told apart. */
#include <criterion/criterion.h>
#include <math.h>

#include "report/page/page.h"

/* Text on every colour is read by everybody: contrast of 4.5 at least, on light and on dark. */
static double luminance(uint32_t rgb)
{
	double part[3];

	for (int i = 0; i < 3; i++) {
		part[i] = (double)(rgb >> (16 - 8 * i) & 255) / 255;
		part[i] =
		        part[i] <= 0.04045 ? part[i] / 12.92 : pow((part[i] + 0.055) / 1.055, 2.4);
	}
	return 0.2126 * part[0] + 0.7152 * part[1] + 0.0722 * part[2];
}

static double contrast(uint32_t a, uint32_t b)
{
	const double x = luminance(a), y = luminance(b);

	return (fmax(x, y) + 0.05) / (fmin(x, y) + 0.05);
}

Test(colours, text_on_every_colour_has_contrast)
{
	for (int c = 0; c < WS_PAGE_NCOLOURS; c++) {
		const struct ws_page_colour_def def = ws_page_colour_def((enum ws_page_colour)c);

		cr_expect(contrast(def.light, def.ink) >= 4.5, "colour %d: %.2f", c,
		          contrast(def.light, def.ink));
		cr_expect(contrast(def.dark, def.ink) >= 4.5, "colour %d, dark: %.2f", c,
		          contrast(def.dark, def.ink));
	}
}

/* Colours as somebody sees them who lacks one kind of cones: G. M. Machado and others, 2009. */
static const double cones[4][3][3] = {
        {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
        {{0.152286, 1.052583, -0.204868},
         {0.114503, 0.786281, 0.099216},
         {-0.003882, -0.048116, 1.051998}},
        {{0.367322, 0.860646, -0.227968},
         {0.280085, 0.672501, 0.047413},
         {-0.011820, 0.042940, 0.968881}},
        {{1.255528, -0.076749, -0.178779},
         {-0.078411, 0.930809, 0.147602},
         {0.004733, 0.691367, 0.303900}},
};
static const double to_xyz[3][3] = {{0.4124, 0.3576, 0.1805},
                                    {0.2126, 0.7152, 0.0722},
                                    {0.0193, 0.1192, 0.9505}};

static void multiply(const double m[3][3], const double in[3], double out[3])
{
	for (int i = 0; i < 3; i++) {
		out[i] = 0;
		for (int k = 0; k < 3; k++)
			out[i] += m[i][k] * in[k];
		out[i] = fmin(1.1, fmax(0, out[i]));
	}
}

/* CIE 1976 L*, a*, b* */
static void see(uint32_t rgb, const double m[3][3], double lab[3])
{
	static const double white[3] = {0.9505, 1, 1.089};
	double linear[3], seen[3], xyz[3];

	for (int i = 0; i < 3; i++) {
		linear[i] = (double)(rgb >> (16 - 8 * i) & 255) / 255;
		linear[i] = linear[i] <= 0.04045 ? linear[i] / 12.92
		                                 : pow((linear[i] + 0.055) / 1.055, 2.4);
	}
	multiply(m, linear, seen);
	multiply(to_xyz, seen, xyz);
	for (int i = 0; i < 3; i++)
		xyz[i] = xyz[i] / white[i] > 0.008856 ? cbrt(xyz[i] / white[i])
		                                      : 7.787 * xyz[i] / white[i] + 16.0 / 116;
	lab[0] = 116 * xyz[1] - 16;
	lab[1] = 500 * (xyz[0] - xyz[1]);
	lab[2] = 200 * (xyz[1] - xyz[2]);
}

Test(colours, colour_blind_readers_tell_the_colours_apart)
{
	for (int dark = 0; dark < 2; dark++)
		for (int kind = 0; kind < 4; kind++)
			for (int a = 0; a < WS_PAGE_COMPUTING; a++)
				for (int b = 0; b < a; b++) {
					const struct ws_page_colour_def
					        x = ws_page_colour_def((enum ws_page_colour)a),
					        y = ws_page_colour_def((enum ws_page_colour)b);
					double p[3], q[3];

					see(dark ? x.dark : x.light, cones[kind], p);
					see(dark ? y.dark : y.light, cones[kind], q);
					cr_expect(hypot(hypot(p[0] - q[0], p[1] - q[1]),
					                p[2] - q[2]) >=
					                  /* idle time is hatched, too */
					                  (a < WS_PAGE_IDLE ? 12 : 11),
					          "colours %d and %d look alike to kind %d", a, b,
					          kind);
				}
}
