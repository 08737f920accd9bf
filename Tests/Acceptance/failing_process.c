// Preloaded into the server: memory that SQLite does not get, threads that are not started.
//
// PROCESS_FAULT names a file of two 32-bit numbers, which whoever watches may change at any time:
//   memory    the so manieth allocation of SQLite from now on fails, and that one alone; 0: none
//   threads   how many more threads can be started; negative: as many as one likes

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static struct fault {
    atomic_int memory;
    atomic_int threads;
} *fault;
static sqlite3_mem_methods real;

static int is_out_of_memory(void)
{
    return atomic_load(&fault->memory) > 0 && atomic_fetch_sub(&fault->memory, 1) == 1;
}

static void *allocate(int count) { return is_out_of_memory() ? NULL : real.xMalloc(count); }

static void *allocate_again(void *old, int count)
{
    return is_out_of_memory() ? NULL : real.xRealloc(old, count);
}

__attribute__((constructor)) static void prepare(void)
{
    const char *path = getenv("PROCESS_FAULT");
    int descriptor = path == NULL ? -1 : open(path, O_RDWR | O_CLOEXEC);
    if (descriptor < 0)
        return;
    void *found = mmap(NULL, sizeof *fault, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    close(descriptor);
    if (found == MAP_FAILED)
        abort();
    fault = found;
    // The server's own SQLite; other programs that are started have none.
    int (*configure)(int, ...) = (int (*)(int, ...))dlsym(RTLD_DEFAULT, "sqlite3_config");
    if (configure == NULL)
        return;
    configure(SQLITE_CONFIG_GETMALLOC, &real);
    sqlite3_mem_methods failing = real;
    failing.xMalloc = allocate;
    failing.xRealloc = allocate_again;
    if (configure(SQLITE_CONFIG_MALLOC, &failing) != SQLITE_OK)
        abort();
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *),
                   void *argument)
{
    int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) =
        (int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *))dlsym(
            RTLD_NEXT, "pthread_create");
    if (fault != NULL && atomic_load(&fault->threads) >= 0) {
        if (atomic_fetch_sub(&fault->threads, 1) <= 0) {
            atomic_store(&fault->threads, 0);
            return EAGAIN;
        }
    }
    return create(thread, attributes, start, argument);
}
