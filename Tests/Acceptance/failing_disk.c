// Preloaded into the server: makes the disk fail or drag while a file says so.
//
// DISK_FAULT names the file. Its first word is what happens:
//   eio        every fsync and fdatasync fails with EIO
//   slow MS    each of them takes MS milliseconds longer
//   hang       each of them takes until the file says otherwise
//   readonly   every pwrite fails with EROFS
//   full NAME  every pwrite to a file whose path ends with NAME fails with ENOSPC
// Without the file, or with nothing in it, the disk is a good one.
//
// DISK_SYNC_FAILS=K makes the K-th fsync or fdatasync of the process fail with EIO, and that one
// alone; but of a directory's failure whoever opened it before hears too, as the kernel tells all
// that have it open. DISK_REPORT names a file that then says whose it was.
//
// DISK_SLOW_MS makes each fsync and fdatasync take so many milliseconds longer all the time: for
// measurements, where looking for a file at each call would be measured too.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int fault(char *word, char *more)
{
    const char *path = getenv("DISK_FAULT");
    FILE *file = path == NULL ? NULL : fopen(path, "re");
    if (file == NULL)
        return 0;
    more[0] = 0;
    int count = fscanf(file, "%15s %63s", word, more);
    fclose(file);
    return count > 0;
}

static int is_at(int descriptor, const char *end)
{
    char link[64], path[512];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t count = readlink(link, path, sizeof path - 1);
    size_t length = strlen(end);
    if (count < (ssize_t)length)
        return 0;
    path[count] = 0;
    return strcmp(path + count - length, end) == 0;
}

static void report(int descriptor)
{
    char link[64], path[512];
    const char *name = getenv("DISK_REPORT");
    FILE *file = name == NULL ? NULL : fopen(name, "we");
    if (file == NULL)
        return;
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t count = readlink(link, path, sizeof path - 1);
    path[count < 0 ? 0 : count] = 0;
    fputs(path, file);
    fclose(file);
}

static int is_the_one(int descriptor)
{
    static atomic_int calls, later;
    struct stat status;
    const char *which = getenv("DISK_SYNC_FAILS");
    if (which == NULL)
        return 0;
    int is_directory = fstat(descriptor, &status) == 0 && S_ISDIR(status.st_mode);
    if (atomic_fetch_add(&calls, 1) + 1 == atoi(which)) {
        report(descriptor);
        if (is_directory)
            atomic_store(&later, descriptor);
        return 1;
    }
    // Descriptors are given from the lowest on.
    if (!is_directory || descriptor >= atomic_load(&later))
        return 0;
    atomic_store(&later, 0);
    return 1;
}

static int disturbed(const char *name, int descriptor)
{
    char word[16], more[64];
    const char *slow = getenv("DISK_SLOW_MS");
    if (slow != NULL)
        usleep((useconds_t)atoi(slow) * 1000);
    if (is_the_one(descriptor)) {
        errno = EIO;
        return -1;
    }
    while (fault(word, more) && strcmp(word, "readonly") != 0 && strcmp(word, "full") != 0) {
        if (strcmp(word, "eio") == 0) {
            errno = EIO;
            return -1;
        }
        if (strcmp(word, "slow") == 0) {
            usleep((useconds_t)atoi(more) * 1000);
            break;
        }
        usleep(10000);
    }
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
    return real(descriptor);
}

int fsync(int descriptor) { return disturbed("fsync", descriptor); }
int fdatasync(int descriptor) { return disturbed("fdatasync", descriptor); }

ssize_t pwrite64(int descriptor, const void *bytes, size_t count, off64_t offset)
{
    char word[16], more[64];
    if (fault(word, more)) {
        errno = strcmp(word, "readonly") == 0 ? EROFS : ENOSPC;
        if (errno == EROFS || (strcmp(word, "full") == 0 && is_at(descriptor, more)))
            return -1;
    }
    ssize_t (*real)(int, const void *, size_t, off64_t) =
        (ssize_t (*)(int, const void *, size_t, off64_t))dlsym(RTLD_NEXT, "pwrite64");
    return real(descriptor, bytes, count, offset);
}

ssize_t pwrite(int descriptor, const void *bytes, size_t count, off_t offset)
{
    char word[16], more[64];
    if (fault(word, more) && strcmp(word, "full") == 0 && is_at(descriptor, more)) {
        errno = ENOSPC;
        return -1;
    }
    ssize_t (*real)(int, const void *, size_t, off_t) =
        (ssize_t (*)(int, const void *, size_t, off_t))dlsym(RTLD_NEXT, "pwrite");
    return real(descriptor, bytes, count, offset);
}
