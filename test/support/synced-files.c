/*
 * Loaded before the C library (LD_PRELOAD): keeps a copy of every database file as it was at its last sync, which is what a
 * power loss may leave of it. While the file "fail" is in the folder of the copies, syncs fail.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void copy(const char *from, const char *folder, const char *name) {
  char part[PATH_MAX], whole[PATH_MAX], block[65536];
  snprintf(part, sizeof part, "%s/%s.part", folder, name);
  snprintf(whole, sizeof whole, "%s/%s", folder, name);
  int in = open(from, O_RDONLY), out = open(part, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  for (ssize_t size; (size = read(in, block, sizeof block)) > 0;)
    if (write(out, block, size) != size) abort();
  close(in);
  close(out);
  rename(part, whole);
}

static int sync_with(const char *function, int file) {
  int (*original)(int) = dlsym(RTLD_NEXT, function);
  const char *folder = getenv("SYNCED_FILES");
  char link[64], path[PATH_MAX] = "", fail[PATH_MAX];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  if (readlink(link, path, sizeof path - 1) < 0) path[0] = 0;
  const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
  // A journal is used and deleted only while the database is created.
  if (!folder || !strstr(name, ".db") || strstr(name, "-journal")) return original(file);
  snprintf(fail, sizeof fail, "%s/fail", folder);
  if (access(fail, F_OK) == 0) {
    errno = EIO;
    return -1;
  }
  int result = original(file);
  if (result == 0) copy(path, folder, name);
  return result;
}

int fsync(int file) { return sync_with("fsync", file); }
int fdatasync(int file) { return sync_with("fdatasync", file); }
