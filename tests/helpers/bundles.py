"""Archives as the audit sees them, without an archive: a sound one, to be changed in one place."""

from dataclasses import replace
from typing import Any

from ci.builds.audit.licences import VENDORED
from ci.builds.audit.values import Bundle, Finding, Member, Stated
from ci.builds.elf_facts import DeviceCode, ElfFacts, SymbolVersion
from ci.builds.target import Lane, Promise, Target
from ci.outcome import Verdict

LANE = Lane(
    name="cu13",
    toolchain="wheels",
    minimum_driver="580",
    companions=("libcudart.so.13", "libcublas.so.13"),
    driver=("libcuda.so.1",),
)
PROMISE = Promise(
    sass=("sm_75",),
    ptx=(),
    glibc="2.31",
    glibcxx="3.4.28",
    plugins=("libggml-cuda.so",),
    companions=LANE.companions,
    driver=LANE.driver,
    system=("libc.so.6", "libm.so.6", "libstdc++.so.6"),
)
TARGET = Target(name="sm75", platform="x64", programs=("llama-server",), options=(), lane=LANE, promise=PROMISE)

SERVER = ElfFacts(program=True, interpreter="/lib64/ld-linux-x86-64.so.2", needed=("libllama.so.0", "libc.so.6"))
LIBRARY = ElfFacts(
    soname="libllama.so.0",
    needed=("libc.so.6",),
    versions=(SymbolVersion(library="libc.so.6", version="GLIBC_2.30", symbol="twalk_r"),),
)
CUDA = ElfFacts(
    needed=("libcudart.so.13", "libcuda.so.1"),
    device=DeviceCode(sass=(("sm_75", 144),), units=144),
)
MIT = "MIT License\nCopyright (c) The ggml authors\nPermission is hereby\ngranted, free of charge"
TEXTS = {"LICENSE": MIT, **{f"LICENSE-{part}": "This is in the Public\n Domain" for part in VENDORED}}


def sound(**changes: Any) -> Bundle:
    """A small archive of a target that every rule passes."""
    elves = {"llama-server": SERVER, "libllama.so.0": LIBRARY, "libggml-cuda.so": CUDA}
    looked = {name: _finished(elf) for name, elf in elves.items()}
    programs = {name: Member(name=name, mode=0o755, size=9) for name in elves}
    texts = {name: Member(name=name, size=9) for name in (*TEXTS, "build.json")}
    name = "llama-b7-speed.1-bin-linux-sm75-cu13-x64.tar.gz"
    bundle = Bundle(
        archive=name,
        members={**programs, **texts},
        elves=looked,
        texts=TEXTS,
        stated=Stated(label="b7-speed.1", target="sm75", lane="cu13", minimum_driver="580", archive=name),
        version="version: 7 (b7-speed.1)",
        target=TARGET,
    )
    return replace(bundle, **changes)


def _finished(elf: ElfFacts) -> ElfFacts:
    return replace(elf, runpath="$ORIGIN", device=elf.device or DeviceCode())


def with_elf(name: str, /, **changes: Any) -> Bundle:
    """The sound archive with one file changed; a new file starts as a library that needs nothing."""
    bundle = sound()
    elf = replace(bundle.elves.get(name, _finished(ElfFacts())), **changes)
    member = bundle.members.get(name, Member(name=name, mode=0o755))
    return replace(bundle, elves={**bundle.elves, name: elf}, members={**bundle.members, name: member})


def with_member(member: Member) -> Bundle:
    """The sound archive with one entry more, or changed."""
    bundle = sound()
    return replace(bundle, members={**bundle.members, member.name: member})


def strange(bundle: Bundle) -> Bundle:
    """The same archive from a stranger: it promises nothing."""
    return replace(bundle, target=None, stated=None, version=None)


def verdict_of(findings: tuple[Finding, ...]) -> Verdict:
    """The verdict of a rule's findings, of which there must be some."""
    (worst,) = {min(("FAIL", "UNPROVEN", "PASS").index(finding.verdict) for finding in findings)}
    return (Verdict.FAIL, Verdict.UNPROVEN, Verdict.PASS)[worst]


def the(findings: tuple[Finding, ...], verdict: Verdict = Verdict.FAIL) -> Finding:
    """The one finding with that verdict."""
    (only,) = (finding for finding in findings if finding.verdict is verdict)
    return only
