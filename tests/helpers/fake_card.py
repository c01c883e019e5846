"""Builds whose programs behave as on a machine with a card; what they say of it, a test chooses."""

import sys
from pathlib import Path

from ci.builds.store import Build, Variant
from tests.helpers import fake_llama
from tests.helpers.made_build import made_build, made_key

LISTED = "  CUDA0: NVIDIA H200 (143771 MiB, 143000 MiB free)"
ALL_LAYERS = "load_tensors: offloaded 31/31 layers to GPU"
AGREES = "Backend 1/2: CUDA0\n\n  7/7 tests passed\n  Backend CUDA0: OK\nBackend 2/2: CPU\n  Skipping\nOK\n"
NO_SUCH_DEVICE = "Backend 1/1: CPU\n  Skipping\n1/1 backends passed\nOK\n"

SERVER = """\
#!{python} -I
import os, sys
if "--version" in sys.argv:
    print("version: 7 ({label})")
elif "--list-devices" in sys.argv:
    print("Available devices:")
    print({listed!r})
else:
    os.environ["FAKE_BUILD"] = "b7-{label}"
    print({told!r}, file=sys.stderr, flush=True)
    exec(compile(open({source!r}).read(), "fake_llama", "exec"), {{"__name__": "__main__"}})
"""
LABELS: dict[Variant, str] = {"stock": "b7", "speed": "b7-speed.1"}


def card_build(
    root: Path, variant: Variant, *, listed: str = LISTED, told: str = ALL_LAYERS, operators: str = AGREES
) -> Build:
    """A stored build.

    Args:
        root: its home.
        variant: stock or speed.
        listed: what its server says of the devices that it sees.
        told: what its server's log says of layers.
        operators: what its operator tests print.
    """
    label = LABELS[variant]
    source = str(Path(fake_llama.__file__))
    server = SERVER.format(python=sys.executable, label=label, listed=listed, told=told, source=source)
    program = f"#!/bin/sh\ncat <<'END'\n{operators}END\n"
    files = {"llama-server": server.encode(), "test-backend-ops": program.encode(), "LICENSE": b"MIT\n"}
    return made_build(root, made_key(variant=variant, label=label), files)
