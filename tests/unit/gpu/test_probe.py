from pathlib import Path

import pytest

from ci.errors import CardUnread, ToolMissing
from ci.gpu import probe
from ci.gpu.probe import find_cards, find_libraries, library_folders
from tests.helpers.fake_smi import fake_smi

REFUSED = 'Field "compute_cap" is not a valid field to query.'


def test_cards_and_their_state(tmp_path: Path) -> None:
    cards, state = find_cards({"PATH": fake_smi(tmp_path / "bin")})
    assert [(card.name, str(card.capability)) for card in cards] == [("NVIDIA H200", "9.0")]
    assert state["power.limit"] == "700.00 W"


def test_a_driver_too_old_to_know_the_capability(tmp_path: Path) -> None:
    path = fake_smi(tmp_path / "bin", REFUSED, code=2, old="Tesla P4, 390.48, 7611 MiB")
    cards, _ = find_cards({"PATH": path})
    assert [(card.name, card.capability, card.driver) for card in cards] == [("Tesla P4", None, "390.48")]


@pytest.mark.parametrize(
    ("cards", "code"),
    [
        ("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.", 9),
        (REFUSED, 2),
        ("No devices were found", 0),
    ],
)
def test_failures_are_quoted(tmp_path: Path, cards: str, code: int) -> None:
    path = fake_smi(tmp_path / "bin", cards, code=code, old="Failed to initialize NVML", old_code=18)
    with pytest.raises(CardUnread, match="nvidia-smi"):
        find_cards({"PATH": path})


def test_a_machine_without_the_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe, "SMI_FOLDERS", ())
    with pytest.raises(ToolMissing, match="nvidia-smi"):
        find_cards({"PATH": str(tmp_path)})


def test_libraries_that_we_brought_come_first_then_named_then_packages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probe, "PLACES", (f"{tmp_path}/cuda*/lib64",))
    for name in ("lib", "named", "site/nvidia/cu13/lib", "cuda-13.0/lib64"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "libx.so").touch()
    environ = {"LD_LIBRARY_PATH": f"{tmp_path}/named:{tmp_path}/nowhere:"}
    folders = library_folders(tmp_path / "lib", tmp_path / "site", environ)
    names = ("lib", "named", "site/nvidia/cu13/lib", "cuda-13.0/lib64")
    assert folders == tuple(tmp_path / name for name in names)
    (tmp_path / "lib" / "libx.so").unlink()
    (tmp_path / "cuda-13.0/lib64/liby.so").touch()
    found, missing = find_libraries(("libx.so", "liby.so", "libz.so"), folders)
    assert found == {"libx.so": tmp_path / "named", "liby.so": tmp_path / "cuda-13.0/lib64"}
    assert missing == ("libz.so",)
