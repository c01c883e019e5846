"""A pack stream of whole objects, as git-unpack-objects(1) and git-index-pack(1) read it: gitformat-pack(5)."""

import hashlib
import struct
import zlib
from collections.abc import Sequence

KINDS = {"commit": 1, "tree": 2, "blob": 3}
LEVEL = 1
"""Of zlib: git packs anew what stays."""


def pack_stream(objects: Sequence[tuple[str, bytes]]) -> bytes:
    """The stream: header, each object as its kind and content, SHA-1 over all of it.

    Args:
        objects: kind (`commit`, `tree` or `blob`) and content of each.
    """
    parts = [b"PACK" + struct.pack(">II", 2, len(objects))]
    for kind, data in objects:
        parts += [_entry_header(KINDS[kind], len(data)), zlib.compress(data, LEVEL)]
    body = b"".join(parts)
    return body + hashlib.sha1(body, usedforsecurity=False).digest()


def _entry_header(kind: int, size: int) -> bytes:
    """Kind and size: four bits of size in the first byte, seven in each further one, the high bit for "more"."""
    head = [(kind << 4) | (size & 0x0F)]
    size >>= 4
    while size:
        head[-1] |= 0x80
        head.append(size & 0x7F)
        size >>= 7
    return bytes(head)
