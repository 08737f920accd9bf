// libcurl, loaded at run time: nothing of it is needed to build. This declares what is used of it
// and nothing else.
//
// Numbers are those of curl/curl.h, which are compiled into every program that uses libcurl and so
// are part of its ABI: "A libcurl upgrade does not break the ABI". The soname has been
// libcurl.so.4 since 7.16.0 (2006). Source: curl.se/libcurl/abi.html.

#ifndef ROLLCALL_CCURL_SHIM_H
#define ROLLCALL_CCURL_SHIM_H

#include <stddef.h>

/// Types of options: CURLOPTTYPE_LONG, _OBJECTPOINT, _FUNCTIONPOINT, _OFF_T and _BLOB.
enum {
    ROLLCALL_CURL_LONG = 0,
    ROLLCALL_CURL_OBJECT = 10000,
    ROLLCALL_CURL_FUNCTION = 20000,
    ROLLCALL_CURL_OFF_T = 30000,
    ROLLCALL_CURL_BLOB = 40000
};

/// Options, as CURLOPT_… of curl/curl.h.
enum rollcall_curl_option {
    ROLLCALL_CURLOPT_WRITEDATA = ROLLCALL_CURL_OBJECT + 1,
    ROLLCALL_CURLOPT_URL = ROLLCALL_CURL_OBJECT + 2,
    ROLLCALL_CURLOPT_PROXY = ROLLCALL_CURL_OBJECT + 4,
    ROLLCALL_CURLOPT_READDATA = ROLLCALL_CURL_OBJECT + 9,
    ROLLCALL_CURLOPT_ERRORBUFFER = ROLLCALL_CURL_OBJECT + 10,
    ROLLCALL_CURLOPT_WRITEFUNCTION = ROLLCALL_CURL_FUNCTION + 11,
    ROLLCALL_CURLOPT_READFUNCTION = ROLLCALL_CURL_FUNCTION + 12,
    ROLLCALL_CURLOPT_POSTFIELDS = ROLLCALL_CURL_OBJECT + 15,
    ROLLCALL_CURLOPT_LOW_SPEED_LIMIT = ROLLCALL_CURL_LONG + 19,
    ROLLCALL_CURLOPT_LOW_SPEED_TIME = ROLLCALL_CURL_LONG + 20,
    ROLLCALL_CURLOPT_USERAGENT = ROLLCALL_CURL_OBJECT + 18,
    ROLLCALL_CURLOPT_HTTPHEADER = ROLLCALL_CURL_OBJECT + 23,
    ROLLCALL_CURLOPT_SSLCERT = ROLLCALL_CURL_OBJECT + 25,
    ROLLCALL_CURLOPT_HEADERDATA = ROLLCALL_CURL_OBJECT + 29,
    /// CURL_SSLVERSION_TLSv1_2: that or later.
    ROLLCALL_CURLOPT_SSLVERSION = ROLLCALL_CURL_LONG + 32,
    ROLLCALL_CURLOPT_CUSTOMREQUEST = ROLLCALL_CURL_OBJECT + 36,
    ROLLCALL_CURLOPT_NOPROGRESS = ROLLCALL_CURL_LONG + 43,
    ROLLCALL_CURLOPT_UPLOAD = ROLLCALL_CURL_LONG + 46,
    ROLLCALL_CURLOPT_POST = ROLLCALL_CURL_LONG + 47,
    ROLLCALL_CURLOPT_FOLLOWLOCATION = ROLLCALL_CURL_LONG + 52,
    ROLLCALL_CURLOPT_XFERINFODATA = ROLLCALL_CURL_OBJECT + 57,
    ROLLCALL_CURLOPT_CAINFO = ROLLCALL_CURL_OBJECT + 65,
    ROLLCALL_CURLOPT_FRESH_CONNECT = ROLLCALL_CURL_LONG + 74,
    ROLLCALL_CURLOPT_FORBID_REUSE = ROLLCALL_CURL_LONG + 75,
    ROLLCALL_CURLOPT_HEADERFUNCTION = ROLLCALL_CURL_FUNCTION + 79,
    ROLLCALL_CURLOPT_HTTPGET = ROLLCALL_CURL_LONG + 80,
    ROLLCALL_CURLOPT_SSLKEY = ROLLCALL_CURL_OBJECT + 87,
    ROLLCALL_CURLOPT_CAPATH = ROLLCALL_CURL_OBJECT + 97,
    ROLLCALL_CURLOPT_NOSIGNAL = ROLLCALL_CURL_LONG + 99,
    /// By its former name, FTP_RESPONSE_TIMEOUT, since 7.10.8.
    ROLLCALL_CURLOPT_SERVER_RESPONSE_TIMEOUT = ROLLCALL_CURL_LONG + 112,
    ROLLCALL_CURLOPT_INFILESIZE_LARGE = ROLLCALL_CURL_OFF_T + 115,
    /// Since 7.17.0.
    ROLLCALL_CURLOPT_USE_SSL = ROLLCALL_CURL_LONG + 119,
    ROLLCALL_CURLOPT_POSTFIELDSIZE_LARGE = ROLLCALL_CURL_OFF_T + 120,
    ROLLCALL_CURLOPT_TIMEOUT_MS = ROLLCALL_CURL_LONG + 155,
    ROLLCALL_CURLOPT_CONNECTTIMEOUT_MS = ROLLCALL_CURL_LONG + 156,
    ROLLCALL_CURLOPT_OPENSOCKETFUNCTION = ROLLCALL_CURL_FUNCTION + 163,
    ROLLCALL_CURLOPT_OPENSOCKETDATA = ROLLCALL_CURL_OBJECT + 164,
    ROLLCALL_CURLOPT_USERNAME = ROLLCALL_CURL_OBJECT + 173,
    ROLLCALL_CURLOPT_PASSWORD = ROLLCALL_CURL_OBJECT + 174,
    /// A bit mask; deprecated for PROTOCOLS_STR in 7.85.0, which older ones do not have.
    ROLLCALL_CURLOPT_PROTOCOLS = ROLLCALL_CURL_LONG + 181,
    ROLLCALL_CURLOPT_MAIL_FROM = ROLLCALL_CURL_OBJECT + 186,
    ROLLCALL_CURLOPT_MAIL_RCPT = ROLLCALL_CURL_OBJECT + 187,
    /// Since 7.32.0.
    ROLLCALL_CURLOPT_XFERINFOFUNCTION = ROLLCALL_CURL_FUNCTION + 219,
    /// Since 7.42.0.
    ROLLCALL_CURLOPT_PATH_AS_IS = ROLLCALL_CURL_LONG + 234,
    /// Since 7.80.0.
    ROLLCALL_CURLOPT_PREREQFUNCTION = ROLLCALL_CURL_FUNCTION + 312,
    ROLLCALL_CURLOPT_PREREQDATA = ROLLCALL_CURL_OBJECT + 313,
    /// Since 7.87.0.
    ROLLCALL_CURLOPT_QUICK_EXIT = ROLLCALL_CURL_LONG + 322,
    /// Since 7.77.0, and not with every TLS library.
    ROLLCALL_CURLOPT_CAINFO_BLOB = ROLLCALL_CURL_BLOB + 309
};

/// CURLPROTO_HTTP | CURLPROTO_HTTPS.
enum { ROLLCALL_CURLPROTO_WEB = 3 };

/// CURLPROTO_SMTP | CURLPROTO_SMTPS.
enum { ROLLCALL_CURLPROTO_MAIL = 3 << 16 };

/// CURLUSESSL_ALL: no word more without TLS.
enum { ROLLCALL_CURL_USE_SSL_ALL = 3 };

/// CURL_SSLVERSION_TLSv1_2, since 7.34.0.
enum { ROLLCALL_CURL_TLS_1_2 = 6 };

/// Facts, as CURLINFO_… of curl/curl.h; CURLINFO_LONG is 0x200000.
enum rollcall_curl_info {
    ROLLCALL_CURLINFO_RESPONSE_CODE = 0x200000 + 2,
    ROLLCALL_CURLINFO_REQUEST_SIZE = 0x200000 + 12,
    ROLLCALL_CURLINFO_OS_ERRNO = 0x200000 + 25,
    ROLLCALL_CURLINFO_NUM_CONNECTS = 0x200000 + 26
};

/// Outcomes, as CURLcode of curl/curl.h.
enum rollcall_curl_code {
    ROLLCALL_CURLE_OK = 0,
    ROLLCALL_CURLE_URL_MALFORMAT = 3,
    ROLLCALL_CURLE_COULDNT_RESOLVE_PROXY = 5,
    ROLLCALL_CURLE_COULDNT_RESOLVE_HOST = 6,
    ROLLCALL_CURLE_COULDNT_CONNECT = 7,
    ROLLCALL_CURLE_WEIRD_SERVER_REPLY = 8,
    ROLLCALL_CURLE_PARTIAL_FILE = 18,
    ROLLCALL_CURLE_WRITE_ERROR = 23,
    ROLLCALL_CURLE_OUT_OF_MEMORY = 27,
    ROLLCALL_CURLE_OPERATION_TIMEDOUT = 28,
    ROLLCALL_CURLE_SSL_CONNECT_ERROR = 35,
    ROLLCALL_CURLE_ABORTED_BY_CALLBACK = 42,
    ROLLCALL_CURLE_GOT_NOTHING = 52,
    ROLLCALL_CURLE_SEND_ERROR = 55,
    ROLLCALL_CURLE_RECV_ERROR = 56,
    ROLLCALL_CURLE_PEER_FAILED_VERIFICATION = 60,
    ROLLCALL_CURLE_USE_SSL_FAILED = 64,
    ROLLCALL_CURLE_SSL_CACERT_BADFILE = 77,
    /// Since 8.6.0.
    ROLLCALL_CURLE_TOO_LARGE = 100
};

/// CURL_ERROR_SIZE: bytes of the error buffer.
enum { ROLLCALL_CURL_ERROR_SIZE = 256 };

/// CURL_BLOB_COPY: libcurl makes its own copy.
enum { ROLLCALL_CURL_BLOB_COPY = 1 };

/// The function that CURLOPT_WRITEFUNCTION and CURLOPT_HEADERFUNCTION call: anything but
/// `size * count` as answer ends the transfer with CURLE_WRITE_ERROR. CURLOPT_READFUNCTION calls one of
/// the same type, which fills `bytes` with at most so many and answers how many it did, 0 at the end.
typedef size_t (*rollcall_curl_sink)(char *bytes, size_t size, size_t count, void *context);

/// struct curl_sockaddr: where a connection is to go; `addr` is the beginning of `addrlen` bytes of a
/// sockaddr. Not called that here: its header, included again, would take Glibc's names from Swift.
struct rollcall_curl_address {
    int family;
    int socktype;
    int protocol;
    unsigned int addrlen;
    unsigned short addr[8];
};

/// The function that CURLOPT_OPENSOCKETFUNCTION calls: it returns a socket, or -1 (CURL_SOCKET_BAD)
/// to refuse the address. `purpose` is CURLSOCKTYPE_IPCXN, 0.
typedef int (*rollcall_curl_opener)(void *context, int purpose,
                                    struct rollcall_curl_address *address);

/// The function that CURLOPT_PREREQFUNCTION calls once a connection stands and before the request goes
/// out: 0 (CURL_PREREQFUNC_OK) lets it, 1 (CURL_PREREQFUNC_ABORT) does not.
typedef int (*rollcall_curl_permit)(void *context, char *primary_ip, char *local_ip,
                                    int primary_port, int local_port);

/// The function that CURLOPT_XFERINFOFUNCTION calls as bytes come and go, and otherwise about once a second:
/// anything but 0 ends the transfer with CURLE_ABORTED_BY_CALLBACK.
typedef int (*rollcall_curl_look)(void *context, long long download_total, long long downloaded,
                                  long long upload_total, long long uploaded);

/// A loaded libcurl.
struct rollcall_curl;

/// Loads the library of this name and initialises it; NULL and words in `trouble` if that fails.
/// Not to be called from two threads at once: curl_global_init is thread-safe since 7.84.0 only.
///
/// It is never unloaded: TLS libraries leave handlers behind that run at the process' end.
struct rollcall_curl *rollcall_curl_load(const char *name, char *trouble, size_t trouble_size);

/// Its own version, `libcurl/7.88.1 OpenSSL/3.0.17 …`.
const char *rollcall_curl_version(const struct rollcall_curl *curl);

/// curl_easy_init: a handle, or NULL.
void *rollcall_curl_open(const struct rollcall_curl *curl);
/// curl_easy_cleanup.
void rollcall_curl_close(const struct rollcall_curl *curl, void *handle);
/// curl_easy_reset: all options at their defaults; live connections stay.
void rollcall_curl_reset(const struct rollcall_curl *curl, void *handle);
/// curl_easy_perform.
int rollcall_curl_perform(const struct rollcall_curl *curl, void *handle);
/// curl_easy_strerror.
const char *rollcall_curl_words(const struct rollcall_curl *curl, int code);

// curl_easy_setopt and curl_easy_getinfo are variadic, which Swift cannot call.

/// Sets an option of type LONG.
int rollcall_curl_set_long(const struct rollcall_curl *curl, void *handle,
                           enum rollcall_curl_option option, long value);
/// Sets one of type OFF_T, which is 64 bits wide everywhere.
int rollcall_curl_set_size(const struct rollcall_curl *curl, void *handle,
                           enum rollcall_curl_option option, long long value);
/// Sets one of type OBJECTPOINT that is a text or a context.
int rollcall_curl_set_pointer(const struct rollcall_curl *curl, void *handle,
                              enum rollcall_curl_option option, const void *value);
/// Sets one of type FUNCTIONPOINT.
int rollcall_curl_set_sink(const struct rollcall_curl *curl, void *handle,
                           enum rollcall_curl_option option, rollcall_curl_sink sink);
/// Sets the one that opens sockets.
int rollcall_curl_set_opener(const struct rollcall_curl *curl, void *handle,
                             rollcall_curl_opener opener);
/// Sets the one that lets a request go out.
int rollcall_curl_set_permit(const struct rollcall_curl *curl, void *handle,
                             rollcall_curl_permit permit);
/// Sets the one that is called while a transfer runs.
int rollcall_curl_set_look(const struct rollcall_curl *curl, void *handle, rollcall_curl_look look);
/// Sets one of type BLOB; libcurl copies the bytes.
int rollcall_curl_set_blob(const struct rollcall_curl *curl, void *handle,
                           enum rollcall_curl_option option, const void *bytes, size_t count);
/// A fact of type LONG; 0 if there is none.
long rollcall_curl_fact(const struct rollcall_curl *curl, void *handle,
                        enum rollcall_curl_info info);

/// curl_slist_append: the list with a copy of `text` at its end, or NULL and the list as it was.
void *rollcall_curl_append(const struct rollcall_curl *curl, void *list, const char *text);
/// curl_slist_free_all.
void rollcall_curl_free_list(const struct rollcall_curl *curl, void *list);

#endif
