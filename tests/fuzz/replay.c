/* fuzz_trace_replay FOLDER...: give each file there to the fuzz target. Fails when there is none.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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
	free(data);
	return 0;
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
