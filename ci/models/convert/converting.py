"""From a published draft to GGUF files: converted, quantised as often as asked, looked at before they get a name."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from ci.console import Console
from ci.errors import ConversionFailed, NotAModel
from ci.files import exclusive, no_space_as_error, remove_tree, require_free_space, staged_file
from ci.git import Git
from ci.home import Home
from ci.models.convert import programs
from ci.models.convert.agree import DraftShape
from ci.models.convert.checkpoint import Checkpoint, link_data
from ci.models.convert.product import faults_of
from ci.models.convert.source import write_converter
from ci.models.header.reading import read_header
from ci.models.header.values import Header, ModelHeader

WAIT_S = 3600.0
"""Seconds that another conversion may take."""


@dataclass(frozen=True, kw_only=True)
class Product:
    """A file that was asked for: its final name, and its type in llama-quantize's words; empty for 16 bits."""

    path: Path
    kind: str = ""


@dataclass(frozen=True, kw_only=True, eq=False)
class Job:
    """What to convert, and with what.

    Attributes:
        draft: the checkpoint.
        shape: what it says of itself.
        target: whose tokenizer the draft takes.
        products: what to make of it.
        python: of the converter's environment.
        tree: git tree that holds the converter.
        quantizer: llama-quantize; None where nothing is quantised.
    """

    draft: Checkpoint
    shape: DraftShape
    target: Checkpoint
    products: tuple[Product, ...]
    python: Path
    tree: str
    quantizer: Path | None = None


@dataclass(frozen=True, kw_only=True)
class Made:
    """A finished product, what its header says, and what could not be done as asked."""

    product: Product
    header: ModelHeader
    notes: tuple[str, ...]


def required_bytes(draft: Checkpoint, products: Sequence[Product]) -> int:
    """Room for the products, none above 16 bits a value, and for the file that others are quantised from."""
    return draft.plain_size * (len(products) + any(product.kind for product in products))


def convert(home: Home, job: Job, console: Console) -> tuple[Made, ...]:
    """Make every product; each gets its name only when it is the draft that the checkpoint promises.

    Raises:
        ConversionFailed: a program refuses, or a file is no such draft; earlier products keep their names.
        DiskFull: no room.
        Busy: another conversion runs.
    """
    for product in job.products:
        require_free_space(product.path.parent, required_bytes(job.draft, job.products), what="the conversion")
    with _scratch(home, console) as scratch:
        worker = _Worker(home=home, job=job, scratch=scratch, console=console)
        return tuple(worker.products())


@contextmanager
def _scratch(home: Home, console: Console) -> Iterator[Path]:
    """An empty folder, held against other conversions and emptied again."""
    folder, lock = home.work / "convert", home.work / "convert.lock"
    with exclusive(lock, wait_s=WAIT_S, on_wait=lambda: console.say(f"waiting for the lock {lock}")):
        remove_tree(folder)
        folder.mkdir(parents=True)
        try:
            yield folder
        finally:
            remove_tree(folder)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Worker:
    """One conversion in its scratch folder."""

    home: Home
    job: Job
    scratch: Path
    console: Console

    def products(self) -> Iterator[Made]:
        """Each product when it has its name."""
        script = write_converter(Git(path=self.home.history), self.job.tree, self.scratch / "source")
        plain = self.scratch / "draft.gguf"
        if any(product.kind for product in self.job.products):
            self._convert(script, plain)
        for product in self.job.products:
            yield self._named(product, script, plain)

    def _named(self, product: Product, script: Path, plain: Path) -> Made:
        final = product.path
        with no_space_as_error(str(final)), staged_file(final) as staging:
            notes = self._quantise(plain, staging, product.kind) if product.kind else self._convert(script, staging)
            header = self._inspected(staging)
            staging.chmod(0o644)
        return Made(product=product, header=ModelHeader(shards=(replace(header, path=final),)), notes=notes)

    def _convert(self, script: Path, into: Path) -> tuple[str, ...]:
        job, links = self.job, self.scratch / "links"
        remove_tree(links)
        draft, target = link_data(job.draft, links / "draft"), link_data(job.target, links / "target")
        with (
            self.console.task(f"converting {draft.name}") as task,
            programs.shown_growing(into, job.draft.plain_size, task),
        ):
            programs.convert(job.python, script, draft, target, into, home=self.scratch)
        return ()

    def _quantise(self, plain: Path, into: Path, kind: str) -> tuple[str, ...]:
        if self.job.quantizer is None:
            raise ConversionFailed(f"nothing to quantise to {kind} with", hint="invoke build")
        with self.console.task(f"quantising to {kind}") as task:
            return programs.quantise(self.job.quantizer, plain, into, kind, task)

    def _inspected(self, file: Path) -> Header:
        """The header of a file that is the draft.

        Raises:
            ConversionFailed: it is not; lists every difference.
        """
        try:
            header = read_header(file)
        except NotAModel as foreign:
            raise ConversionFailed(f"what was made is no model: {foreign.message}") from foreign
        faults = list(faults_of(ModelHeader(shards=(header,)), self.job.shape))
        if faults:
            listed = "".join(f"\n    {fault}" for fault in faults)
            raise ConversionFailed(f"what was made of {self.job.draft.folder} is not its draft:{listed}")
        return header
