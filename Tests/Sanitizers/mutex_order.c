// Tells the thread sanitizer of the order that Swift's Mutex makes when threads wait for it.
//
// Whoever finds a Mutex free takes it in code that is compiled into the program, and so for the
// sanitizer. Whoever must wait does so in libswiftSynchronization, which was not: the sanitizer sees
// no order between the two, and calls what both do under the lock a race. Loaded before that library,
// this says what its three functions do. Nothing else is suppressed, so a race is a race.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>

// Only in a program that was compiled for the sanitizer.
__attribute__((weak)) void __tsan_acquire(void *address);
__attribute__((weak)) void __tsan_release(void *address);

#define SWIFT __attribute__((swiftcall))
#define SELF __attribute__((swift_context))
#define LOCK "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define TRY_LOCK "$s15Synchronization12_MutexHandleV12_tryLockSlowSbyF"
#define UNLOCK "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"

typedef SWIFT void lock_function(uint32_t thread, SELF void *mutex);
typedef SWIFT bool try_lock_function(SELF void *mutex);
typedef SWIFT void unlock_function(SELF void *mutex);

SWIFT void order_lock(uint32_t thread, SELF void *mutex) __asm__(LOCK);
SWIFT bool order_try_lock(SELF void *mutex) __asm__(TRY_LOCK);
SWIFT void order_unlock(SELF void *mutex) __asm__(UNLOCK);

SWIFT void order_lock(uint32_t thread, SELF void *mutex) {
    static lock_function *original;
    if (!original) original = (lock_function *)dlsym(RTLD_NEXT, LOCK);
    original(thread, mutex);
    if (__tsan_acquire) __tsan_acquire(mutex);
}

SWIFT bool order_try_lock(SELF void *mutex) {
    static try_lock_function *original;
    if (!original) original = (try_lock_function *)dlsym(RTLD_NEXT, TRY_LOCK);
    bool is_taken = original(mutex);
    if (is_taken && __tsan_acquire) __tsan_acquire(mutex);
    return is_taken;
}

SWIFT void order_unlock(SELF void *mutex) {
    static unlock_function *original;
    if (!original) original = (unlock_function *)dlsym(RTLD_NEXT, UNLOCK);
    if (__tsan_release) __tsan_release(mutex);
    original(mutex);
}
