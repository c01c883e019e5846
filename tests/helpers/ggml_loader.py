"""The loader of the real builds as a reader of headers: `gguf.cpp` itself, called in a process of its own.

`python -m tests.helpers.ggml_loader LIBRARY FILE ...` prints one JSON line a file, null where it refuses.
"""

import ctypes
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ci.process import run

ROOT = Path(__file__).parents[2]


class _Params(ctypes.Structure):
    _fields_ = (("no_alloc", ctypes.c_bool), ("ctx", ctypes.c_void_p))


_CALLS: dict[str, Any] = {
    "gguf_get_alignment": ctypes.c_size_t,
    "gguf_get_data_offset": ctypes.c_size_t,
    "gguf_get_version": ctypes.c_uint32,
    "gguf_get_n_kv": ctypes.c_int64,
    "gguf_get_key": ctypes.c_char_p,
    "gguf_get_n_tensors": ctypes.c_int64,
    "gguf_get_tensor_name": ctypes.c_char_p,
    "gguf_get_tensor_type": ctypes.c_int,
    "gguf_get_tensor_offset": ctypes.c_size_t,
    "gguf_get_tensor_size": ctypes.c_size_t,
}


def loaded(library: Path, files: Sequence[Path]) -> list[dict[str, Any] | None]:
    """What gguf.cpp finds in each file; None for one that it refuses."""
    argv: tuple[str | Path, ...] = (sys.executable, "-m", "tests.helpers.ggml_loader", library, *files)
    return [json.loads(line) for line in run(argv, cwd=ROOT).stdout.splitlines()]


def _load(ggml: Any, file: str) -> dict[str, Any] | None:
    opened = ggml.gguf_init_from_file(file.encode(), _Params(no_alloc=True, ctx=None))
    if not opened:
        return None
    context = ctypes.c_void_p(opened)
    tensors = range(ggml.gguf_get_n_tensors(context))
    return {
        "version": ggml.gguf_get_version(context),
        "data_offset": ggml.gguf_get_data_offset(context),
        "keys": [_text(ggml.gguf_get_key(context, at)) for at in range(ggml.gguf_get_n_kv(context))],
        "tensors": [
            [
                _text(ggml.gguf_get_tensor_name(context, at)),
                ggml.gguf_get_tensor_type(context, at),
                ggml.gguf_get_tensor_offset(context, at),
                ggml.gguf_get_tensor_size(context, at),
            ]
            for at in tensors
        ],
    }


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "backslashreplace")


def main(library: str, *files: str) -> None:
    """Print what the loader finds."""
    ggml: Any = ctypes.CDLL(library)
    ggml.gguf_init_from_file.restype = ctypes.c_void_p
    ggml.gguf_init_from_file.argtypes = (ctypes.c_char_p, _Params)
    for name, result in _CALLS.items():
        call = getattr(ggml, name)
        call.restype = result
        call.argtypes = (ctypes.c_void_p, ctypes.c_int64) if name in _INDEXED else (ctypes.c_void_p,)
    for file in files:
        sys.stdout.write(json.dumps(_load(ggml, file)) + "\n")
        sys.stdout.flush()


_INDEXED = {"gguf_get_key", *(name for name in _CALLS if name.startswith("gguf_get_tensor_"))}

if __name__ == "__main__":
    main(*sys.argv[1:])
