#include "shim.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

// As declared in curl/easy.h and curl/curl.h; a CURLcode and a CURLoption are ints, a CURL and a
// struct curl_slist are only ever passed on.
struct rollcall_curl {
    int (*global_init)(long flags);
    char *(*version)(void);
    void *(*easy_init)(void);
    void (*easy_cleanup)(void *);
    void (*easy_reset)(void *);
    int (*easy_perform)(void *);
    const char *(*easy_strerror)(int);
    int (*easy_setopt)(void *, int, ...);
    int (*easy_getinfo)(void *, int, ...);
    void *(*slist_append)(void *, const char *);
    void (*slist_free_all)(void *);
};

// struct curl_blob of curl/easy.h.
struct blob {
    void *data;
    size_t len;
    unsigned int flags;
};

// CURL_GLOBAL_ALL is CURL_GLOBAL_SSL | CURL_GLOBAL_WIN32.
static const long global_all = 3;

struct rollcall_curl *rollcall_curl_load(const char *name, char *trouble, size_t trouble_size)
{
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        const char *words = dlerror();
        snprintf(trouble, trouble_size, "%s", words == NULL ? "cannot be loaded" : words);
        return NULL;
    }
    struct rollcall_curl *curl = calloc(1, sizeof *curl);
    if (curl == NULL) {
        snprintf(trouble, trouble_size, "no memory");
        return NULL;
    }
    // POSIX dlsym(3): the cast through void ** is how a function's address is taken.
    const struct {
        const char *name;
        void **place;
    } wanted[] = {
        {"curl_global_init", (void **)&curl->global_init},
        {"curl_version", (void **)&curl->version},
        {"curl_easy_init", (void **)&curl->easy_init},
        {"curl_easy_cleanup", (void **)&curl->easy_cleanup},
        {"curl_easy_reset", (void **)&curl->easy_reset},
        {"curl_easy_perform", (void **)&curl->easy_perform},
        {"curl_easy_strerror", (void **)&curl->easy_strerror},
        {"curl_easy_setopt", (void **)&curl->easy_setopt},
        {"curl_easy_getinfo", (void **)&curl->easy_getinfo},
        {"curl_slist_append", (void **)&curl->slist_append},
        {"curl_slist_free_all", (void **)&curl->slist_free_all},
    };
    for (size_t place = 0; place < sizeof wanted / sizeof *wanted; place++) {
        *wanted[place].place = dlsym(library, wanted[place].name);
        if (*wanted[place].place == NULL) {
            snprintf(trouble, trouble_size, "%s: has no %s", name, wanted[place].name);
            free(curl);
            dlclose(library);
            return NULL;
        }
    }
    int code = curl->global_init(global_all);
    if (code != ROLLCALL_CURLE_OK) {
        snprintf(trouble, trouble_size, "%s: cannot be initialised: %s", name,
                 curl->easy_strerror(code));
        free(curl);
        return NULL;
    }
    return curl;
}

const char *rollcall_curl_version(const struct rollcall_curl *curl) { return curl->version(); }

void *rollcall_curl_open(const struct rollcall_curl *curl) { return curl->easy_init(); }

void rollcall_curl_close(const struct rollcall_curl *curl, void *handle)
{
    curl->easy_cleanup(handle);
}

void rollcall_curl_reset(const struct rollcall_curl *curl, void *handle)
{
    curl->easy_reset(handle);
}

int rollcall_curl_perform(const struct rollcall_curl *curl, void *handle)
{
    return curl->easy_perform(handle);
}

const char *rollcall_curl_words(const struct rollcall_curl *curl, int code)
{
    return curl->easy_strerror(code);
}

int rollcall_curl_set_long(const struct rollcall_curl *curl, void *handle,
                           enum rollcall_curl_option option, long value)
{
    return curl->easy_setopt(handle, (int)option, value);
}

int rollcall_curl_set_size(const struct rollcall_curl *curl, void *handle,
                           enum rollcall_curl_option option, long long value)
{
    return curl->easy_setopt(handle, (int)option, value);
}

int rollcall_curl_set_pointer(const struct rollcall_curl *curl, void *handle,
                              enum rollcall_curl_option option, const void *value)
{
    return curl->easy_setopt(handle, (int)option, value);
}

int rollcall_curl_set_sink(const struct rollcall_curl *curl, void *handle,
                           enum rollcall_curl_option option, rollcall_curl_sink sink)
{
    return curl->easy_setopt(handle, (int)option, sink);
}

int rollcall_curl_set_permit(const struct rollcall_curl *curl, void *handle,
                             rollcall_curl_permit permit)
{
    return curl->easy_setopt(handle, ROLLCALL_CURLOPT_PREREQFUNCTION, permit);
}

int rollcall_curl_set_look(const struct rollcall_curl *curl, void *handle, rollcall_curl_look look)
{
    return curl->easy_setopt(handle, ROLLCALL_CURLOPT_XFERINFOFUNCTION, look);
}

int rollcall_curl_set_opener(const struct rollcall_curl *curl, void *handle,
                             rollcall_curl_opener opener)
{
    return curl->easy_setopt(handle, ROLLCALL_CURLOPT_OPENSOCKETFUNCTION, opener);
}

int rollcall_curl_set_blob(const struct rollcall_curl *curl, void *handle,
                           enum rollcall_curl_option option, const void *bytes, size_t count)
{
    struct blob blob = {(void *)bytes, count, ROLLCALL_CURL_BLOB_COPY};
    return curl->easy_setopt(handle, (int)option, &blob);
}

long rollcall_curl_fact(const struct rollcall_curl *curl, void *handle,
                        enum rollcall_curl_info info)
{
    long value = 0;
    return curl->easy_getinfo(handle, (int)info, &value) == ROLLCALL_CURLE_OK ? value : 0;
}

void *rollcall_curl_append(const struct rollcall_curl *curl, void *list, const char *text)
{
    return curl->slist_append(list, text);
}

void rollcall_curl_free_list(const struct rollcall_curl *curl, void *list)
{
    curl->slist_free_all(list);
}
