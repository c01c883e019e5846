"""Digests of values: one spelling per value, SHA-256 over it."""

import hashlib
import json

from ci.outcome import JsonValue


def sha256_bytes(data: bytes) -> str:
    """Hex SHA-256 of bytes."""
    return hashlib.sha256(data).hexdigest()


def canonical_json(value: JsonValue) -> bytes:
    """One spelling per value: sorted keys, no spaces, UTF-8. The input of every digest of ours."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def digest_json(value: JsonValue) -> str:
    """Hex SHA-256 of the canonical JSON of a value."""
    return sha256_bytes(canonical_json(value))
