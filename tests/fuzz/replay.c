/* replay_TARGET FOLDER...: give each file there to the fuzz target. Fails when there is none.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/mutate.h"

#define MUTATIONS 8 /* of each file, so that the mutations run everywhere, too */

/* libFuzzer's, where it is not: a byte changes. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size)
{
	static unsigned n;

	(void)max_size;
	if (size)
		data[(n * 7919u) % size] ^= (uint8_t)(1u << n % 8);
	n++;
	return size;
}

/* Most targets have none of their own. */
__attribute__((weak)) size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size,
                                                     unsigned seed)
{
	(void)seed;
	return LLVMFuzzerMutate(data, size, max_size);
}

static int replay_mutated(const uint8_t *data, size_t size)
{
	const size_t room = size + 64;

	for (unsigned i = 0; i < MUTATIONS; i++) {
		uint8_t *copy = malloc(room), *exact;
		size_t n;

		if (!copy)
			return 1;
		memcpy(copy, data, size);
		n = LLVMFuzzerCustomMutator(copy, size, room, i + 1);
		/* of just this size, so that a sanitizer sees what is read behind it */
		exact = realloc(copy, n ? n : 1);
		if (!exact) {
			free(copy);
			return 1;
		}
		LLVMFuzzerTestOneInput(exact, n);
		free(exact);
	}
	return 0;
}

static int replay_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	uint8_t *data;
	long size;

	if (!f || fseek(f, 0, SEEK_END) != 0 || (size = ftell(f)) < 0) {
		fprintf(stderr, "cannot read %s\n", path);
		return 1;
	}
	rewind(f);
	data = malloc(size ? (size_t)size : 1);
	if (!data || fread(data, 1, (size_t)size, f) != (size_t)size) {
		fprintf(stderr, "cannot read %s\n", path);
		return 1;
	}
	fclose(f);
	printf("%s\n", path);
	fflush(stdout);
	LLVMFuzzerTestOneInput(data, (size_t)size);
	size = replay_mutated(data, (size_t)size);
	free(data);
	return (int)size;
}

static int replay_folder(const char *folder)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;
	int files = 0, bad = 0;

	while (dir && (entry = readdir(dir))) {
		char path[4096];

		if (entry->d_name[0] == '.' || strstr(entry->d_name, ".md"))
			continue;
		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		bad |= replay_file(path);
		files++;
	}
	if (dir)
		closedir(dir);
	if (!files)
		fprintf(stderr, "no inputs in %s\n", folder);
	return bad || !files;
}

int main(int argc, char **argv)
{
	int bad = argc < 2;

	for (int i = 1; i < argc; i++)
		bad |= replay_folder(argv[i]);
	return bad;
}
