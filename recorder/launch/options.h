/* The command line of warpsheet-record. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "recorder/launch/recording.h"

struct ws_record_command {
	struct ws_record_opts record;
	const char *output;  /* -o, NULL: by default */
	const char *salvage; /* NULL: record */
	const char *model;   /* value of --model, NULL: a program after -- */
	char **program;      /* with its arguments, NULL-terminated; NULL: none was given */
	char **rest;         /* options of warpsheet-step; NULL-terminated */
	int nrest;
	char **capture_options; /* as given, NULL-terminated: part of the provenance */
	int ncapture_options;
	int64_t repeat; /* recordings of each point; 1 unless has_repeat */
	bool has_repeat;
	bool require_gpu, help, version;
};

/*
 * Parse argv; strings stay where they are. USAGE says which argument is wrong.
 * With --help nothing else is looked at. Free with ws_record_command_release() in any case.
 */
enum ws_status ws_record_command_parse(struct ws_record_command *cmd, int argc, char **argv,
                                       struct ws_err *err);
void ws_record_command_release(struct ws_record_command *cmd); /* legal twice */

/* The list of options, as --help prints it. */
void ws_record_options_print(FILE *f);
