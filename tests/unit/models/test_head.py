"""What a file is that should be a model, by its first bytes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ci.models.head import GGUF_MAGIC, fault_of_head
from tests.helpers.made_models import GGUF

POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"a" * 64 + b"\nsize 98362432\n"

NO_MODELS = [
    (POINTER, f"Git LFS pointer ({'a' * 64}, 98362432 bytes)"),
    (b"version https://git-lfs", "Git LFS pointer (no id, unknown bytes)"),
    (b"<!DOCTYPE html><html>", "HTML page"),
    (b"\n\n  <html lang='en'>", "HTML page"),
    (b"tjgg\x03\x00\x00\x00", "old ggml file"),
    (b"lmgg", "old ggml file"),
    (b"", "an empty file"),
    (b"GGU", "3 bytes: an interrupted download"),
    (b"GGUF", "cut short"),
    (b'{"error": "not found"}', 'JSON answer: {"error": "not found"}'),
    (b'{"error": "not', 'JSON answer: {"error": "not'),
    (b"\x7fELF\x02\x01\x01\x00", "not a GGUF file: it begins with"),
]


@pytest.mark.parametrize(("content", "words"), NO_MODELS)
def test_what_is_no_model_is_named(content: bytes, words: str) -> None:
    assert words in str(fault_of_head(content))


def test_a_gguf_file_has_no_fault() -> None:
    assert fault_of_head(GGUF) is None


@given(st.binary(max_size=64))
def test_only_what_begins_as_gguf_passes(head: bytes) -> None:
    assert (fault_of_head(head) is None) == (head.startswith(GGUF_MAGIC) and len(head) > 4)
