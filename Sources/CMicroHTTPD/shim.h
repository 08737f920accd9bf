// What Swift cannot call of libmicrohttpd: its variadic functions, and a set of flags that its
// closed enum does not let Swift write. Everything else is called directly.

#ifndef ROLLCALL_CMICROHTTPD_SHIM_H
#define ROLLCALL_CMICROHTTPD_SHIM_H

#include <microhttpd.h>

struct gnutls_session_int;

/// The settings that `rollcall_start_daemon` needs beyond the callbacks.
struct rollcall_daemon_settings {
    /// A listening, non-blocking socket; the daemon owns it from a successful start on.
    int listen_descriptor;
    /// Connections beyond this wait in the kernel's backlog.
    unsigned int connections_max;
    /// Inactivity after which libmicrohttpd closes a connection, seconds.
    unsigned int idle_seconds;
    /// Read and write buffers of one connection, bytes.
    size_t connection_memory_bytes;
    /// True if what is spoken is TLS.
    int is_secure;
    /// Threads that share the listening socket, each with connections of its own; at most as many as
    /// `connections_max`.
    unsigned int threads;
};

/// Hands out no certificate: each session gets its own credentials before its handshake.
static inline int
rollcall_no_certificate(struct gnutls_session_int *session, const void *authorities, int count,
                        const void *algorithms, int algorithm_count, void **certificates,
                        unsigned int *certificate_count, void **key)
{
    (void) session, (void) authorities, (void) count, (void) algorithms, (void) algorithm_count;
    (void) certificates, (void) certificate_count, (void) key;
    return -1;
}

/// MHD_start_daemon is variadic.
///
/// Poll mode on purpose: 0.9.75's epoll loop, which AUTO picks on Linux, waits again without
/// handling anything whenever exactly 128 events are ready.
static inline struct MHD_Daemon *
rollcall_start_daemon(struct rollcall_daemon_settings settings, MHD_AccessHandlerCallback access,
                      MHD_RequestCompletedCallback completed,
                      MHD_NotifyConnectionCallback connection,
                      size_t (*unescape)(void *, struct MHD_Connection *, char *), void *context)
{
    unsigned int flags = MHD_USE_POLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME;
    if (settings.is_secure) flags |= MHD_USE_TLS;
    return MHD_start_daemon(flags, 0, NULL, NULL,
                            access, context,
                            MHD_OPTION_LISTEN_SOCKET, settings.listen_descriptor,
                            MHD_OPTION_NOTIFY_COMPLETED, completed, context,
                            MHD_OPTION_NOTIFY_CONNECTION, connection, context,
                            MHD_OPTION_UNESCAPE_CALLBACK, unescape, context,
                            MHD_OPTION_CONNECTION_LIMIT, settings.connections_max,
                            MHD_OPTION_CONNECTION_TIMEOUT, settings.idle_seconds,
                            MHD_OPTION_CONNECTION_MEMORY_LIMIT, settings.connection_memory_bytes,
                            // 0 is no pool; 0.9.75 takes 1 for a mistake.
                            MHD_OPTION_THREAD_POOL_SIZE, settings.threads > 1 ? settings.threads : 0,
                            settings.is_secure ? MHD_OPTION_HTTPS_CERT_CALLBACK : MHD_OPTION_END,
                            &rollcall_no_certificate, MHD_OPTION_END);
}

/// The connection's socket, or -1. MHD_get_connection_info is variadic.
static inline int
rollcall_descriptor(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info == NULL ? -1 : info->connect_fd;
}

/// The connection's gnutls_session_t, or NULL where no TLS is spoken. Variadic as above.
static inline void *
rollcall_tls_session(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
    return info == NULL ? NULL : info->tls_session;
}

/// Returns what MHD_OPTION_NOTIFY_CONNECTION stored for this connection; NULL for nothing. Variadic
/// as above.
static inline void *
rollcall_socket_context(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info == NULL ? NULL : info->socket_context;
}

/// Bytes from the method to the end of the blank line, or 0. Variadic as above.
static inline size_t
rollcall_head_size(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    return info == NULL ? 0 : info->header_size;
}

/// One walk over the header fields and the query's arguments: the enum is closed, so that Swift
/// cannot write the union of two kinds.
static inline void
rollcall_each_field(struct MHD_Connection *connection, MHD_KeyValueIteratorN iterator,
                    void *context)
{
    MHD_get_connection_values_n(connection,
                                (enum MHD_ValueKind)(MHD_HEADER_KIND | MHD_GET_ARGUMENT_KIND),
                                iterator, context);
}

#endif
