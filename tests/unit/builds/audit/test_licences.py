"""What ships comes with the terms that it ships under."""

from dataclasses import replace

import pytest

from ci.builds.audit.licences import VENDORED, licences, nvidia
from ci.builds.audit.values import Bundle
from ci.outcome import Verdict
from tests.helpers.bundles import LANE, MIT, TEXTS, sound, the, verdict_of


def with_texts(**texts: str) -> Bundle:
    return sound(texts={**TEXTS, **{name.replace("_", "-"): text for name, text in texts.items()}})


def test_all_terms_are_there() -> None:
    assert verdict_of(licences(sound())) is Verdict.PASS


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", "not in the archive"),
        ("TBD", "it is not llama.cpp's"),
        (MIT.replace("ggml", "acme"), "it is not llama.cpp's"),
    ],
)
def test_llama_cpps_own(text: str, found: str) -> None:
    finding = the(licences(with_texts(LICENSE=text)))
    assert (finding.file, finding.found) == ("LICENSE", found)


def test_no_licence_at_all() -> None:
    findings = licences(sound(texts={}))
    assert the(findings).file == "LICENSE"
    assert len(findings) == 1 + len(VENDORED)


@pytest.mark.parametrize("part", sorted(VENDORED))
def test_a_part_without_its_terms_is_unproven(part: str) -> None:
    texts = {name: text for name, text in TEXTS.items() if name != f"LICENSE-{part}"}
    finding = the(licences(sound(texts=texts)), Verdict.UNPROVEN)
    assert finding.file == f"LICENSE-{part}"
    assert VENDORED[part] in finding.words


def test_a_file_without_terms_is_unproven() -> None:
    assert the(licences(with_texts(LICENSE_stb="see the header")), Verdict.UNPROVEN).file == "LICENSE-stb"


def test_nvidias_terms() -> None:
    agreement = {"LICENSE-nvidia-cublas": "NVIDIA\nEnd User License\nAgreement"}
    assert verdict_of(nvidia(sound(texts=agreement, companions=LANE))) is Verdict.PASS
    assert the(nvidia(replace(sound(texts={}), companions=LANE))).found == "no licence in the archive"
    assert the(nvidia(sound(texts={"LICENSE": MIT}))).found == "only LICENSE"
