"""What the first bytes of a file say it is, when it should be a GGUF file and is none."""

import json

GGUF_MAGIC = b"GGUF"
OLD_MAGICS = (b"lmgg", b"fmgg", b"tjgg", b"algg")  # ggml, ggmf, ggjt, ggla as little-endian words
LFS_MARK = b"version https://git-lfs"
HEAD = 1024
"""Bytes to look at."""


def fault_of_head(head: bytes) -> str | None:
    """What the first bytes of a file say it is, when it is not a GGUF file; None when it is one."""
    if head.startswith(GGUF_MAGIC):
        return None if len(head) > len(GGUF_MAGIC) else "a GGUF file cut short after its first four bytes"
    if GGUF_MAGIC.startswith(head):
        return f"{len(head)} bytes: an interrupted download" if head else "an empty file"
    if head[:4] in OLD_MAGICS:
        return "an old ggml file, from before GGUF: convert it with a llama.cpp of 2023"
    return fault_of_answer(head) or _json_fault(head.lstrip()) or f"not a GGUF file: it begins with {head[:8]!r}"


def _lfs_words(head: bytes) -> str:
    fields = dict(line.split(" ", 1) for line in head.decode("utf-8", "replace").splitlines() if " " in line)
    return f"{fields.get('oid', 'no id').removeprefix('sha256:')}, {fields.get('size', 'unknown')} bytes"


def fault_of_answer(head: bytes) -> str | None:
    """What the first bytes say it is, when they are an answer in place of a file of any kind."""
    if head.startswith(LFS_MARK):
        return f"a Git LFS pointer ({_lfs_words(head)}), not the file itself"
    if head.lstrip()[:15].lower().startswith((b"<!doctype html", b"<html", b"<head>")):
        return (
            "an HTML page: a log-in or error page, or a link to a file's page instead of the file "
            "(on Hugging Face /resolve/ gives the file, /blob/ its page)"
        )
    return None


def _json_fault(text: bytes) -> str | None:
    return f"a JSON answer: {_json_words(text)}" if text.startswith(b"{") else None


def _json_words(text: bytes) -> str:
    try:
        return json.dumps(json.loads(text))[:200]
    except ValueError:
        return text[:80].decode("utf-8", "replace")
