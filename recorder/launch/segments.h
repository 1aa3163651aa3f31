/* Segments that others made: found in their folders by name. */
#pragma once

/*
 * Calls found(path) for each segment of this user's in dir (NULL: in the
 * folders of ws_segment_folder_default()) whose launcher is gone, and that has
 * something for --salvage.
 */
void ws_segments_abandoned(const char *dir, void (*found)(const char *path));
/* Calls found(ctx, path) for each segment of a further process beside the first one, ready or not.
 */
void ws_segments_further(const char *first_path, void (*found)(void *ctx, const char *path),
                         void *ctx);
