#include "kernels/models/model.h"

#include "kernels/models/image.h"

#define IMAGE_MODEL(function_, channels_, size_, classes_, signal_, conv, linear, loss_)         \
	&(const struct ws_image_model)                                                           \
	{                                                                                        \
		.forward = function_, .channels = channels_, .size = size_, .classes = classes_, \
		.signal = signal_, .conv_weights = WS_WEIGHTS_##conv,                            \
		.linear_weights = WS_WEIGHTS_##linear, .loss = WS_LOSS_##loss_,                  \
	}

static const struct ws_network models[] = {
#define WS_TRANSFORMER(name_, width_, ffn_, layers_, heads_, vocab_)                               \
	{.name = name_,                                                                            \
	 .summary = #layers_ " layers, width " #width_ ", " #heads_ " heads, vocabulary " #vocab_, \
	 .transformer = {width_, ffn_, layers_, heads_, vocab_}},
#define WS_IMAGE(name_, function, channels, size, classes, signal, conv, linear, loss, summary_) \
	{.name = name_,                                                                          \
	 .summary = summary_,                                                                    \
	 .image = IMAGE_MODEL(function, channels, size, classes, signal, conv, linear, loss)},
#include "kernels/models/models.def"
#undef WS_IMAGE
#undef WS_TRANSFORMER
};

const struct ws_network *ws_network_at(int i)
{
	return i >= 0 && (size_t)i < sizeof(models) / sizeof(*models) ? &models[i] : NULL;
}

const struct ws_network *ws_network_find(const char *name)
{
	for (int i = 0; ws_network_at(i); i++)
		if (!strcmp(models[i].name, name))
			return &models[i];
	return NULL;
}
