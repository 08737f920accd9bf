// What Swift cannot call of SQLite's C API, and nothing else.
#ifndef ROLLCALL_CSQLITE_SHIM_H
#define ROLLCALL_CSQLITE_SHIM_H

#include <sqlite3.h>

// sqlite3_db_config() is variadic, and Swift imports no variadic function. This is its form for
// the options whose second parameter is "a pointer to an integer into which is written 0 or 1 to
// indicate whether" the option is off or on following the call.
static inline int rollcall_sqlite_configure(sqlite3 *connection, int option, int on, int *after) {
    return sqlite3_db_config(connection, option, on, after);
}

// sqlite3_config() is variadic too. Of "SQLITE_CONFIG_MEMSTATUS" it says that what is turned off is
// "sqlite3_memory_used(), sqlite3_memory_highwater(), sqlite3_soft_heap_limit64(),
// sqlite3_hard_heap_limit64(), sqlite3_status64()".
static inline int rollcall_sqlite_count_no_memory(void) {
    return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

// The two destructors are integers cast to function pointers; Swift imports no such macro.
// SQLITE_STATIC: "it means that the content pointer is constant and will never change."
static inline sqlite3_destructor_type rollcall_sqlite_static(void) {
    return SQLITE_STATIC;
}

// "The SQLITE_TRANSIENT value means that the content will likely change in the near future and
// that SQLite should make its own private copy of the content before returning."
static inline sqlite3_destructor_type rollcall_sqlite_transient(void) {
    return SQLITE_TRANSIENT;
}

// Extended result codes are computed, SQLITE_IOERR | (4<<8), and Swift imports only plain numbers.
static const int rollcall_ioerr_write = SQLITE_IOERR_WRITE;
static const int rollcall_ioerr_fsync = SQLITE_IOERR_FSYNC;
static const int rollcall_ioerr_dir_fsync = SQLITE_IOERR_DIR_FSYNC;
static const int rollcall_ioerr_truncate = SQLITE_IOERR_TRUNCATE;
static const int rollcall_ioerr_nomem = SQLITE_IOERR_NOMEM;
static const int rollcall_ioerr_shmopen = SQLITE_IOERR_SHMOPEN;
static const int rollcall_ioerr_shmsize = SQLITE_IOERR_SHMSIZE;
static const int rollcall_ioerr_corruptfs = SQLITE_IOERR_CORRUPTFS;
static const int rollcall_ioerr_short_read = SQLITE_IOERR_SHORT_READ;
static const int rollcall_readonly_dbmoved = SQLITE_READONLY_DBMOVED;

#endif
