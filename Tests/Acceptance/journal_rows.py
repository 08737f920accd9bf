"""The journal's rows as a store holds them, for tests that look for one."""

import sqlite3

# The kind of a row that stands for several, which have its ids from `previous` on (J13).
GROUP = 127


def journal_rows(path):
    """The kind and the body of each row that is not packed, in order, read as the store stands."""
    store = sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=5)
    try:
        stored = store.execute("SELECT kind, body FROM journal ORDER BY id").fetchall()
    finally:
        store.close()
    rows = []
    for kind, body in stored:
        if kind != GROUP:
            rows.append((kind, body))
            continue
        at = 0
        while at < len(body):
            _, at = _varint(body, at)
            _, at = _varint(body, at)
            kind = body[at]
            count, at = _varint(body, at + 1)
            rows.append((kind, body[at:at + count]))
            at += count
    return rows


def _varint(data, at):
    """The number at a place, seven bits a byte, and the place behind it."""
    value = shift = 0
    while data[at] & 0x80:
        value |= (data[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
    return value | data[at] << shift, at + 1
