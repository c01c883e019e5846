"""Rules about licences: what ships must come with the terms that it ships under."""

from collections.abc import Iterator

from ci.builds.audit.values import Bundle, Finding
from ci.outcome import Verdict

LICENCES = "licences"
OWN = "LICENSE"
TERMS = (
    "permission is hereby granted",
    "redistribution and use in source and binary forms",
    "public domain",
    "apache license",
    "mozilla public license",
)
"""One of these stands in every licence of llama.cpp and of what it vendors."""
NVIDIA_TERMS = ("nvidia", "license agreement")

VENDORED = {
    "cpp-httplib": "vendor/cpp-httplib/LICENSE",
    "hash-rotate-bits": "vendor/hash/rotate-bits/LICENSE.md",
    "hash-sha1": "the start of vendor/hash/sha1/sha1.c",
    "hash-sha256": "vendor/hash/sha256/LICENSE",
    "hash-xxhash": "vendor/hash/xxhash/LICENSE",
    "jsonhpp": "licenses/LICENSE-jsonhpp",
    "miniaudio": "the end of vendor/miniaudio/miniaudio.h",
    "sheredom": "the start of vendor/sheredom/subprocess.h",
    "stb": "the end of vendor/stb/stb_image.h",
}
"""What llama.cpp carries of others and builds into its programs -> where its terms stand in the sources."""


def licences(bundle: Bundle) -> tuple[Finding, ...]:
    """llama.cpp's licence, and the terms of each part that it carries of others."""
    faults = [*_own_faults(bundle), *_empty(bundle), *_unnamed(bundle)]
    found = " ".join(sorted(bundle.texts))
    passed = Finding(rule=LICENCES, verdict=Verdict.PASS, found=found, expected="llama.cpp's and each part's terms")
    return tuple(faults) or (passed,)


def _own_faults(bundle: Bundle) -> Iterator[Finding]:
    text = _folded(bundle.texts.get(OWN, ""))
    if "permission is hereby granted" not in text or "ggml" not in text:
        found = "it is not llama.cpp's" if text else "not in the archive"
        yield Finding(
            rule=LICENCES,
            verdict=Verdict.FAIL,
            file=OWN,
            found=found,
            expected="llama.cpp's licence with its authors",
        )


def _empty(bundle: Bundle) -> Iterator[Finding]:
    for name, text in sorted(bundle.texts.items()):
        if name != OWN and not any(term in _folded(text) for term in TERMS):
            yield Finding(
                rule=LICENCES,
                verdict=Verdict.UNPROVEN,
                file=name,
                found="no terms that we know",
                expected="the terms of the part that it is named for",
                words="read it, and add its words to TERMS",
            )


def _unnamed(bundle: Bundle) -> Iterator[Finding]:
    """Which parts a release has changes with upstream: one that is missing may be gone."""
    for part, place in VENDORED.items():
        if f"{OWN}-{part}" not in bundle.texts:
            yield Finding(
                rule=LICENCES,
                verdict=Verdict.UNPROVEN,
                file=f"{OWN}-{part}",
                found="not in the archive",
                expected=f"the terms of {part}, if these programs have it",
                words=f"in the sources they stand in {place}",
            )


def nvidia(bundle: Bundle) -> tuple[Finding, ...]:
    """NVIDIA's terms, under which its libraries may be passed on."""
    expected = "NVIDIA's licence agreement"
    for name, text in sorted(bundle.texts.items()):
        if all(term in _folded(text) for term in NVIDIA_TERMS):
            return (Finding(rule=LICENCES, verdict=Verdict.PASS, found=name, expected=expected),)
    found = f"only {' '.join(sorted(bundle.texts))}" if bundle.texts else "no licence in the archive"
    return (Finding(rule=LICENCES, verdict=Verdict.FAIL, found=found, expected=expected),)


def _folded(text: str) -> str:
    """Lower case, blanks and line ends made one: terms are wrapped anywhere."""
    return " ".join(text.lower().split())
