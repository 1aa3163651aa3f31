/* What the tests of the import of Nsight Systems' export share. */
#pragma once

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <sqlite3.h>
#include <unistd.h>

#include "tests/support/imported.h"
#include "tests/environment/scratch.h"

#define TID(pid, tid) "(((1 << 48) | (" #pid " << 24)) | " #tid ")"

/* A database made by these statements, imported. */
static inline struct ws_imported *import(const char *sql)
{
	char *path, *error = NULL;
	struct ws_imported *i;
	sqlite3 *db;

	cr_assert(asprintf(&path, "%s/ws-nsys-%d.sqlite", scratch_memory(), (int)getpid()) > 0);
	unlink(path);
	cr_assert(eq(int, sqlite3_open(path, &db), SQLITE_OK));
	cr_assert(eq(int, sqlite3_exec(db, sql, NULL, NULL, &error), SQLITE_OK), "%s", error);
	sqlite3_close(db);
	i = ws_imported_file(path);
	unlink(path);
	free(path);
	return i;
}

static inline struct ws_imported *imported(const char *sql)
{
	struct ws_imported *i = import(sql);

	cr_assert(eq(int, i->status, WS_OK), "%s", i->err.text);
	cr_assert(eq(u64, i->damage, 0));
	return i;
}

static inline uint64_t rows(const struct ws_imported *i, enum ws_kind kind)
{
	return i->table[kind].rows;
}

#define STRINGS                                                                             \
	"CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);"                      \
	"INSERT INTO StringIds VALUES (1,'cudaLaunchKernel_v7000'),(2,'void f<int>(int)')," \
	"(3,'f'),(4,'_Z1fi'),(5,'registered'),(6,'main thread'),"                           \
	"(99,'PATH=/bin' || char(0) || 'TOKEN=hunter2');"

#define RUNTIME                                                                            \
	"CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INT, end INT, eventClass INT, "   \
	"globalTid INT, correlationId INT, nameId INT, returnValue INT, callchainId INT);" \
	"INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (-20, -5, 0, " TID(                \
	        100, 101) ", 7, 1, 0, "                                                    \
	                  "NULL),(30, 40, 1, " TID(200, 201) ", 7, 1, 700, NULL);"
