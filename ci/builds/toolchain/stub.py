"""The source of the stub driver library: what a program is linked against where there is no driver."""

from ci.builds.toolchain.lock import Stub


def stub_source(stub: Stub) -> str:
    """C source that defines every function; each fails, should anything ever call it."""
    lines = (f"int {name}(void) {{ return 100; }}" for name in stub.functions)
    return "/* stands in for the driver's library at link time; 100: no device */\n" + "\n".join(lines) + "\n"
