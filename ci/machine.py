"""What this machine is: the part of a measurement's identity that is not the builds."""

import os
import platform
from pathlib import Path

CPUINFO = Path("/proc/cpuinfo")
MEMINFO = Path("/proc/meminfo")


def fingerprint() -> dict[str, str | int]:
    """Processor, usable cores, memory (GiB), kernel and C library; figures of unlike machines are not compared."""
    return {
        "cpu": _value(CPUINFO, "model name") or platform.processor() or platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": round(int((_value(MEMINFO, "MemTotal") or "0").split()[0]) / 2**20),
        "system": f"{platform.system()} {platform.release()}",
        "libc": " ".join(platform.libc_ver()),
        "python": platform.python_version(),
    }


def _value(path: Path, key: str) -> str | None:
    """The first `key : value` of a /proc file, or None."""
    if not path.is_file():
        return None
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        name, _, value = line.partition(":")
        if name.strip() == key:
            return value.strip()
    return None
