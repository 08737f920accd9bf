// Preloaded into the server: makes the disk fail or drag while a file says so.
//
// DISK_FAULT names the file. Its first word is what happens:
//   eio        every fsync and fdatasync fails with EIO
//   slow MS    each of them takes MS milliseconds longer
//   hang       each of them takes until the file says otherwise
//   readonly   every pwrite fails with EROFS
// Without the file, or with nothing in it, the disk is a good one.
//
// DISK_SLOW_MS makes each fsync and fdatasync take so many milliseconds longer all the time: for
// measurements, where looking for a file at each call would be measured too.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int fault(char *word, int *milliseconds)
{
    const char *path = getenv("DISK_FAULT");
    FILE *file = path == NULL ? NULL : fopen(path, "re");
    if (file == NULL)
        return 0;
    *milliseconds = 0;
    int count = fscanf(file, "%15s %d", word, milliseconds);
    fclose(file);
    return count > 0;
}

static int disturbed(const char *name, int descriptor)
{
    char word[16];
    int milliseconds;
    const char *slow = getenv("DISK_SLOW_MS");
    if (slow != NULL)
        usleep((useconds_t)atoi(slow) * 1000);
    while (fault(word, &milliseconds) && strcmp(word, "readonly") != 0) {
        if (strcmp(word, "eio") == 0) {
            errno = EIO;
            return -1;
        }
        if (strcmp(word, "slow") == 0) {
            usleep((useconds_t)milliseconds * 1000);
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
    char word[16];
    int milliseconds;
    if (fault(word, &milliseconds) && strcmp(word, "readonly") == 0) {
        errno = EROFS;
        return -1;
    }
    ssize_t (*real)(int, const void *, size_t, off64_t) =
        (ssize_t (*)(int, const void *, size_t, off64_t))dlsym(RTLD_NEXT, "pwrite64");
    return real(descriptor, bytes, count, offset);
}
