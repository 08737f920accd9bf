"""Runs a command under the filters of a systemd unit, without systemd:

    python3 seccomp_exec.py UNIT COMMAND …

What it takes from the unit: SystemCallFilter (expanded by `systemd-analyze syscall-filter`),
MemoryDenyWriteExecute, RestrictAddressFamilies, NoNewPrivileges, LimitNOFILE, LimitCORE, UMask. A
call that is not allowed fails with EPERM, as SystemCallErrorNumber says.
"""

import ctypes
import errno
import mmap
import os
import resource
import socket
import subprocess
import sys

ALLOW = 0x7FFF0000
DENY = 0x00050000 | errno.EPERM
MASKED_EQUAL = 7
EQUAL = 4
FAMILIES_MAX = 46
PR_SET_NO_NEW_PRIVS = 38


class Comparison(ctypes.Structure):
    """`struct scmp_arg_cmp` of libseccomp 2.5."""

    _fields_ = [
        ("arg", ctypes.c_uint), ("op", ctypes.c_int),
        ("datum_a", ctypes.c_uint64), ("datum_b", ctypes.c_uint64)]


class Filter:
    """One filter of libseccomp, which is loaded beside those before."""

    library = None

    def __init__(self, default):
        if Filter.library is None:
            Filter.library = ctypes.CDLL("libseccomp.so.2")
            Filter.library.seccomp_init.restype = ctypes.c_void_p
        self.context = ctypes.c_void_p(self.library.seccomp_init(ctypes.c_uint32(default)))

    def rule(self, action, name, *comparisons):
        """Adds a rule; a call that this machine does not have needs none."""
        number = self.library.seccomp_syscall_resolve_name(name.encode())
        if number < 0:
            return
        array = (Comparison * max(1, len(comparisons)))(*comparisons)
        result = self.library.seccomp_rule_add_array(
            self.context, ctypes.c_uint32(action), number, len(comparisons), array)
        if result != 0:
            raise OSError(-result, f"no rule for {name}")

    def load(self):
        result = self.library.seccomp_load(self.context)
        if result != 0:
            raise OSError(-result, "the filter cannot be loaded")


def directives(path):
    """A unit's directives, each with all its values."""
    found = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            if "=" in line and not line.startswith(("#", ";")):
                key, _, value = line.strip().partition("=")
                found.setdefault(key, []).append(value)
    return found


def expand(name):
    """The calls of a group, of the groups in it, or a call itself."""
    if not name.startswith("@"):
        return {name}
    listing = subprocess.run(
        ["systemd-analyze", "--no-pager", "syscall-filter", name], capture_output=True, text=True,
        check=True).stdout
    calls = set()
    for line in listing.splitlines()[1:]:
        if line.strip() and not line.strip().startswith("#"):
            calls |= expand(line.strip())
    return calls


def allowed_calls(values):
    """What is left of several SystemCallFilter lines, the first of which allows."""
    calls = set()
    for value in values:
        for name in value.removeprefix("~").split():
            calls = calls - expand(name) if value.startswith("~") else calls | expand(name)
    return calls


def restrict(unit):
    """Puts this process, and what it becomes, under the unit's limits and filters."""
    found = directives(unit)
    os.umask(int(found["UMask"][0], 8))
    files = int(found["LimitNOFILE"][0])
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
    core = int(found["LimitCORE"][0])
    resource.setrlimit(resource.RLIMIT_CORE, (core, core))
    calls = allowed_calls(found["SystemCallFilter"])
    assert found["NoNewPrivileges"] == found["MemoryDenyWriteExecute"] == ["yes"]
    if ctypes.CDLL(None).prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        raise OSError("PR_SET_NO_NEW_PRIVS")
    both = mmap.PROT_WRITE | mmap.PROT_EXEC
    memory = Filter(ALLOW)
    memory.rule(DENY, "mmap", Comparison(2, MASKED_EQUAL, both, both))
    for name in ("mprotect", "pkey_mprotect"):
        memory.rule(DENY, name, Comparison(2, MASKED_EQUAL, mmap.PROT_EXEC, mmap.PROT_EXEC))
    memory.load()
    families = {int(getattr(socket, name)) for name in found["RestrictAddressFamilies"][0].split()}
    sockets = Filter(ALLOW)
    for family in set(range(FAMILIES_MAX)) - families:
        sockets.rule(DENY, "socket", Comparison(0, EQUAL, family))
    sockets.load()
    listed = Filter(DENY)
    for name in sorted(calls):
        listed.rule(ALLOW, name)
    listed.load()


def main():
    restrict(sys.argv[1])
    os.execv(sys.argv[2], sys.argv[2:])


if __name__ == "__main__":
    main()
