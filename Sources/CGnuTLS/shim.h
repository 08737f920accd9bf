// GnuTLS as it is: libmicrohttpd is linked against it, and its headers come with libmicrohttpd's.

#ifndef ROLLCALL_CGNUTLS_SHIM_H
#define ROLLCALL_CGNUTLS_SHIM_H

#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>

/// gnutls_free, which is a variable that holds a function.
static inline void rollcall_gnutls_free(void *memory) { gnutls_free(memory); }

#endif
