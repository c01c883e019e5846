"""Small programs to start, and whether they are gone."""

import sys
import time
from pathlib import Path


def python(code: str) -> tuple[str, ...]:
    return (sys.executable, "-c", code)


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def wait_gone(pid: int) -> bool:
    for _ in range(100):
        if not alive(pid):
            return True
        time.sleep(0.05)
    return False
