// GnuTLS as it is: libmicrohttpd is linked against it, and its headers come with libmicrohttpd's.

#ifndef ROLLCALL_CGNUTLS_SHIM_H
#define ROLLCALL_CGNUTLS_SHIM_H

#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>

/// gnutls_free, which is a variable that holds a function.
static inline void rollcall_gnutls_free(void *memory) { gnutls_free(memory); }

/// Verifies the certificate of a client: its chain, its dates, and that it is one for clients. The
/// union of what is asked for cannot be written in Swift.
static inline int rollcall_verify_client(gnutls_session_t session, unsigned int *status)
{
    gnutls_typed_vdata_st purpose = {
        .type = GNUTLS_DT_KEY_PURPOSE_OID, .data = (unsigned char *) GNUTLS_KP_TLS_WWW_CLIENT,
    };
    return gnutls_certificate_verify_peers(session, &purpose, 1, status);
}

#endif
