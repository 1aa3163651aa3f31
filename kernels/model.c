#include "kernels/model.h"

static const struct ws_model models[] = {
#define WS_TRANSFORMER(name_, width_, ffn_, layers_, heads_, vocab_)                               \
	{.name = name_,                                                                            \
	 .summary = #layers_ " layers, width " #width_ ", " #heads_ " heads, vocabulary " #vocab_, \
	 .transformer = {width_, ffn_, layers_, heads_, vocab_}},
#include "kernels/models.def"
#undef WS_TRANSFORMER
};

const struct ws_model *ws_model_at(int i)
{
	return i >= 0 && (size_t)i < sizeof(models) / sizeof(*models) ? &models[i] : NULL;
}

const struct ws_model *ws_model_find(const char *name)
{
	for (int i = 0; ws_model_at(i); i++)
		if (!strcmp(models[i].name, name))
			return &models[i];
	return NULL;
}
