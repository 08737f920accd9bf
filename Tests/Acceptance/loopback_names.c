// Preloaded into the server: names that only these tests know, and where they lead.
//
//   home.test       this machine
//   metadata.test   169.254.169.254
//   both.test       169.254.169.254, and then this machine
//   flip.test       this machine the first time, 0.0.0.0 (which Linux connects to this machine) later
//   missing.test    nowhere
//   broken.test     a name server that fails
//   hang.test       a name server that answers after 30 s
// All others are looked up as ever.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <netdb.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

typedef int look_up(const char *, const char *, const struct addrinfo *, struct addrinfo **);

static atomic_int flips;

int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
                struct addrinfo **found)
{
    look_up *real = (look_up *)dlsym(RTLD_NEXT, "getaddrinfo");
    if (node == NULL)
        return real(node, service, hints, found);
    if (strcmp(node, "home.test") == 0)
        return real("127.0.0.1", service, hints, found);
    if (strcmp(node, "metadata.test") == 0)
        return real("169.254.169.254", service, hints, found);
    if (strcmp(node, "flip.test") == 0)
        return real(atomic_fetch_add(&flips, 1) == 0 ? "127.0.0.1" : "0.0.0.0", service, hints,
                    found);
    if (strcmp(node, "missing.test") == 0)
        return EAI_NONAME;
    if (strcmp(node, "broken.test") == 0)
        return EAI_AGAIN;
    if (strcmp(node, "hang.test") == 0) {
        sleep(30);
        return EAI_AGAIN;
    }
    if (strcmp(node, "both.test") == 0) {
        struct addrinfo *second = NULL;
        int code = real("127.0.0.1", service, hints, &second);
        if (code == 0)
            code = real("169.254.169.254", service, hints, found);
        if (code != 0)
            return code;
        struct addrinfo *last = *found;
        while (last->ai_next != NULL)
            last = last->ai_next;
        last->ai_next = second;
        return 0;
    }
    return real(node, service, hints, found);
}
