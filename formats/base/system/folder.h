/* What the back ends give to folder.c. */
#pragma once

#include <dirent.h>

/* The entries of an open folder, for readdir; NULL: errno. */
DIR *ws_folder_entries(int folder);
