/* Files that people try and no importer reads: what they are, and how to get one that is read. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/bytes.h"
#include "formats/import/import.h"

/* Where the text is, behind white space and the mark of UTF-8. */
static const char *begin_of(const char *text, const char *end)
{
	if (end - text >= 3 && !memcmp(text, "\xef\xbb\xbf", 3))
		text += 3;
	while (text < end && isspace((unsigned char)*text))
		text++;
	return text;
}

static const char *find(const char *text, const char *end, const char *what)
{
	return memmem(text, (size_t)(end - text), what, strlen(what));
}

static bool begins(const char *text, const char *end, const char *what)
{
	return (size_t)(end - text) >= strlen(what) && !strncasecmp(text, what, strlen(what));
}

static bool is_lfs(const char *text, const char *end)
{
	return begins(text, end, "version https://git-lfs.github.com/spec/");
}

static bool is_html(const char *text, const char *end)
{
	text = begin_of(text, end);
	return begins(text, end, "<!doctype html") || begins(text, end, "<html");
}

/* The first line is an object, and so is the second. */
static bool is_json_lines(const char *text, const char *end)
{
	const char *line_end;

	text = begin_of(text, end);
	line_end = memchr(text, '\n', (size_t)(end - text));
	if (!line_end || *text != '{' || line_end + 1 == end || line_end[1] != '{')
		return false;
	return line_end[-1] == '}' || (line_end[-1] == '\r' && line_end[-2] == '}');
}

/* A list of timelines instead of one: their key stands before that of any event. */
static bool is_list_of_documents(const char *text, const char *end)
{
	const char *events, *phase;

	text = begin_of(text, end);
	events = find(text, end, "\"traceEvents\"");
	phase = find(text, end, "\"ph\"");
	return text < end && *text == '[' && events && (!phase || events < phase);
}

/* The first key of an object. */
static bool has_first_key(const char *text, const char *end, const char *key)
{
	text = begin_of(text, end);
	if (text == end || *text++ != '{')
		return false;
	return begins(begin_of(text, end), end, key);
}

static bool is_rocprof_json(const char *text, const char *end)
{
	return has_first_key(text, end, "\"rocprofiler-sdk-tool\"");
}

static bool is_rocprof_database(const char *text, const char *end)
{
	return begins(text, end, "SQLite format 3") && find(text, end, "rocpd_");
}

static bool is_speedscope(const char *text, const char *end)
{
	return begins(begin_of(text, end), end, "{") &&
	       find(text, end, "speedscope.app/file-format-schema") &&
	       !find(text, end, "\"traceEvents\"");
}

#define PROFILE_INSTEAD                                                                     \
	"Profile the program with torch.profiler, or with 'nsys profile' and 'nsys export " \
	"--type sqlite'"

/* By the end of the name, "" = any, and by the content, NULL = any. */
static const struct {
	const char *ending;
	bool (*has_content)(const char *text, const char *end);
	const char *cure;
} others[] = {
        {"", is_lfs, "it is a Git LFS pointer, not the file: run 'git lfs pull'"},
        {"", is_html,
         "it is an HTML page: a report, or what a failed download left. Give the trace"},
        {"", is_list_of_documents,
         "it is a list of profiles: take one out, with jq '.[0]' FILE > ONE.json"},
        {"", is_json_lines,
         "it has one JSON object per line: make a list of them, with jq -s . FILE > LIST.json"},
        {"", is_rocprof_json,
         "it is JSON of rocprofv3, which cannot be imported. Profile the program with "
         "torch.profiler"},
        {"", is_rocprof_database,
         "it is a database of rocprofv3, which cannot be imported. Profile the program with "
         "torch.profiler"},
        {"", is_speedscope,
         "it is a speedscope file: samples of the host without GPU work. " PROFILE_INSTEAD},
        {".nsys-rep", NULL,
         "it is a report of Nsight Systems: 'nsys export --type sqlite' makes a readable file "
         "of it"},
        {".qdrep", NULL,
         "it is a report of Nsight Systems: 'nsys export --type sqlite' makes a readable file "
         "of it"},
        {".qdstrm", NULL,
         "it is an unfinished recording of Nsight Systems: QdstrmImporter makes a report of "
         "it, and 'nsys export --type sqlite' a readable file of that"},
        {".ncu-rep", NULL,
         "it is a report of Nsight Compute, about single kernels. " PROFILE_INSTEAD},
        {".xplane.pb", NULL,
         "it is a profile of XLA (JAX, TensorFlow), which cannot be imported. Run the program "
         "under 'nsys profile', then 'nsys export --type sqlite'"},
        {".pftrace", NULL,
         "it is a binary Perfetto trace, which cannot be imported: open it in "
         "ui.perfetto.dev. " PROFILE_INSTEAD},
        {".perfetto-trace", NULL,
         "it is a binary Perfetto trace, which cannot be imported: open it in "
         "ui.perfetto.dev. " PROFILE_INSTEAD},
        {".pickle", NULL,
         "it is pickled data of Python, such as a memory snapshot of PyTorch, which cannot be "
         "imported. " PROFILE_INSTEAD},
};

const char *ws_import_other_file(const char *path, const char *first, size_t len)
{
	const size_t path_len = strlen(path);

	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		const size_t n = strlen(others[i].ending);

		if (n <= path_len && !strcmp(path + path_len - n, others[i].ending) &&
		    (!others[i].has_content || others[i].has_content(first, first + len)))
			return others[i].cure;
	}
	return NULL;
}
