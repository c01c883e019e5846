"""A stand-in for `nvidia-smi` that prints what a test says."""

from pathlib import Path

H200 = "NVIDIA H200, 9.0, 580.159.03, 143771 MiB"
SMI = """\
#!/bin/sh
case "$1" in
*compute_cap*) cat <<'END'
{cards}
END
exit {code} ;;
*pstate*) echo 'P0, 345 MHz, 1980 MHz, 3201 MHz, 700.00 W, Enabled' ;;
*) cat <<'END'
{old}
END
exit {old_code} ;;
esac
"""


def fake_smi(folder: Path, cards: str = H200, *, code: int = 0, old: str = "", old_code: int = 0) -> str:
    """A folder for PATH whose `nvidia-smi` answers a query with and one without `compute_cap` as told."""
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / "nvidia-smi"
    program.write_text(SMI.format(cards=cards, code=code, old=old, old_code=old_code), encoding="utf-8")
    program.chmod(0o755)
    return f"{folder}:/usr/bin:/bin"
