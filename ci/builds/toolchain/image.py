"""The toolchain image of a lane: found by its labels, or made, measured and labelled."""

import contextlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ci.builds.box import Job, owned_by
from ci.builds.engine import Engine, Image
from ci.builds.target import Lane
from ci.builds.toolchain.assemble import LAYOUT, fetch_wheels, write_context, write_label_context
from ci.builds.toolchain.base import PACKAGES, Base, check_cuda_reference, find_base, name_of, named_image
from ci.builds.toolchain.lock import Parts, load_parts
from ci.builds.toolchain.probe import Probed, parse_probe
from ci.console import Console, Task
from ci.digest import digest_json, sha256_bytes
from ci.errors import EngineProblem
from ci.home import Home
from ci.template import render_template

LABEL = "org.speedfork.toolchain"
HERE = Path(__file__).parent
TEMPLATE = "Dockerfile.jinja"
PROBE = HERE / "probe.sh"
PROBE_DEADLINE_S = 600

_STEP = re.compile(r"Step ([0-9]+)/([0-9]+) : (.*)")
_DIGEST = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, kw_only=True)
class ToolchainImage:
    """A toolchain image that the engine has.

    Args:
        id: the engine's id of it, `sha256:...`.
        digest: SHA-256 over everything in it that decides a build's bytes.
        lane: name of the lane.
        identity: digest, and the versions of compilers, linker and tools, in one line.
        nvcc_archs: what nvcc can compile for, e.g. `compute_75`.
        base: the base image, by a registry's digest or the engine's id.
        cuda_from: the image that CUDA was taken from, likewise; empty for wheels.
    """

    id: str
    digest: str
    lane: str
    identity: str
    nvcc_archs: tuple[str, ...]
    base: str
    cuda_from: str


def image_tag(lane: str) -> str:
    """The name of a lane's image in the engine."""
    return f"speedfork/toolchain:{lane}"


def find_toolchain_image(engine: Engine, lane: Lane) -> ToolchainImage | None:
    """The lane's image, when the engine has one that was made from today's recipe and pins, on any base.

    Raises:
        EngineProblem: the engine does not answer.
        ConfigProblem: `toolchain.toml` is malformed.
    """
    image = engine.image(image_tag(lane.name))
    return _read(image, lane, _inputs(load_parts(lane))) if image else None


def ensure_toolchain(
    engine: Engine, lane: Lane, home: Home, console: Console, *, base: str = "", image: str = ""
) -> ToolchainImage:
    """The lane's image: the one that the engine has, else a new one.

    Args:
        engine: where it is looked for and built.
        lane: which.
        home: where wheels are kept and the context is written.
        console: says how far it is.
        base: a Debian 11 image; without it whatever an image that is there stands on, else the usual one.
        image: the image that CUDA is taken from, by digest; for lanes of that kind.

    Raises:
        UsageProblem: an image that was named, or not named, does not fit.
        BaseMissing: there is no Debian 11 image; says how to make one.
        IndexUnreachable, DigestMismatch: a wheel cannot be had.
        EngineProblem, DiskFull: the engine cannot build it.
    """
    if image:
        check_cuda_reference(lane, image)
    found = find_toolchain_image(engine, lane)
    if found and _is_on(engine, found.base, base, "--base") and _is_on(engine, found.cuda_from, image, "--image"):
        return found
    return _make(engine, lane, home, console, base=base, image=image)


def _is_on(engine: Engine, name: str, reference: str, option: str) -> bool:
    """Whether an image is the one that was asked for; so it is when none was."""
    return not reference or reference == name or name_of(named_image(engine, reference, option=option)) == name


def _inputs(parts: Parts) -> str:
    """Digest of what we put in by rule; the base stands beside it, in a label of its own."""
    texts = [(HERE / TEMPLATE).read_text(encoding="utf-8"), PROBE.read_text(encoding="utf-8"), PACKAGES]
    return digest_json({"layout": LAYOUT, "texts": texts, "parts": parts.model_dump()})


def _labels(lane: Lane, inputs: str, base: Base, cuda: Image | None, probed: Probed) -> dict[str, str]:
    return {
        LABEL: probed.digest,
        f"{LABEL}.lane": lane.name,
        f"{LABEL}.kind": lane.toolchain,
        f"{LABEL}.base": base.name,
        f"{LABEL}.cuda": probed.nvcc,
        f"{LABEL}.cuda-from": name_of(cuda) if cuda else "",
        f"{LABEL}.identity": probed.identity,
        f"{LABEL}.archs": " ".join(probed.archs),
        f"{LABEL}.inputs": inputs,
    }


def _read(image: Image, lane: Lane, inputs: str) -> ToolchainImage | None:
    """What the labels say; None for an image that is not ours, or ours of another day."""
    said = {name.removeprefix(f"{LABEL}."): value for name, value in image.labels.items()}
    digest = image.labels.get(LABEL, "")
    wanted = {"lane": lane.name, "kind": lane.toolchain, "inputs": inputs}
    whole = _DIGEST.fullmatch(digest) and all(said.get(name) for name in ("base", "identity", "archs"))
    if not whole or any(said.get(name) != value for name, value in wanted.items()):
        return None
    return ToolchainImage(
        id=image.id,
        digest=digest,
        lane=lane.name,
        identity=said["identity"],
        nvcc_archs=tuple(said["archs"].split()),
        base=said["base"],
        cuda_from=said.get("cuda-from", ""),
    )


def _make(engine: Engine, lane: Lane, home: Home, console: Console, *, base: str, image: str) -> ToolchainImage:
    """Build without labels, look at what came out, label that: an image under our tag is always a measured one."""
    check_cuda_reference(lane, image)
    parts, ours = load_parts(lane), sha256_bytes(str(home.root).encode())[:16]
    owner = owned_by("toolchain", home.root, lane.name)  # another state directory may be at the same work
    engine.remove_orphans(owner)
    with console.task("the images that the toolchain stands on"):
        cuda = named_image(engine, image, option="--image") if image else None
        ground = find_base(engine, base, owner)
    wheels = fetch_wheels(home, parts, console)
    context, tag = home.work / f"toolchain-{lane.name}.tar", image_tag(lane.name)
    with (
        console.task(f"toolchain image {tag}") as task,
        _own_file(context),
        _own_tag(engine, f"{tag}-{ours}") as raw_tag,
    ):
        task.update(0, None, "packing the wheels")
        write_context(context, _dockerfile(parts, ground, cuda), parts, wheels)
        raw = _build(engine, context, raw_tag, {}, task, network=bool(ground.lacks))
        task.update(0, None, "its digest")
        labels = _labels(lane, _inputs(parts), ground, cuda, _probe(engine, raw, owner))
        write_label_context(context, raw.id)
        made = _build(engine, context, tag, labels, task, network=False)
    found = _read(made, lane, labels[f"{LABEL}.inputs"])
    if found is None:
        raise EngineProblem(f"the engine built {tag}, but its labels are not those that were asked for")
    return found


@contextlib.contextmanager
def _own_file(path: Path) -> Iterator[None]:
    try:
        yield
    finally:
        path.unlink(missing_ok=True)


@contextlib.contextmanager
def _own_tag(engine: Engine, tag: str) -> Iterator[str]:
    """A name for the time of the block; what nothing else names or stands on goes with it."""
    try:
        yield tag
    finally:
        if engine.image(tag):
            engine.remove_image(tag)


def _dockerfile(parts: Parts, base: Base, cuda: Image | None) -> str:
    values = {
        "base": base.id,
        "packages": PACKAGES if base.lacks else "",
        "cuda_image": cuda.id if cuda else "",
        "soname": parts.stub.soname,
    }
    return render_template(HERE, TEMPLATE, values, filters={}, finalize=str, autoescape=False)


def _build(engine: Engine, context: Path, tag: str, labels: dict[str, str], task: Task, *, network: bool) -> Image:
    def said(line: str) -> None:
        if step := _STEP.match(line):
            task.update(int(step[1]) - 1, int(step[2]), step[3][:60])

    return engine.build(context, tag=tag, labels=labels, network=network, on_line=said)


def _probe(engine: Engine, image: Image, owner: str) -> Probed:
    """Run `probe.sh` in the image, as root: not every file of a system is for others to read."""
    script = PROBE.read_text(encoding="utf-8")
    job = Job(image=image.id, argv=("bash", "-c", script), owner=owner, env={}, user="0:0", volumes={})
    with engine.container(job) as box:
        box.start()
        ended = box.follow(lambda _: None, deadline_s=PROBE_DEADLINE_S)
    if ended.code:
        quote = "".join(f"\n    {line}" for line in ended.lines[-12:])
        raise EngineProblem(f"the new toolchain image does not work: its probe ended with code {ended.code}{quote}")
    return parse_probe(ended.lines)
