"""Which files stand for which models, and why one does not."""

from pathlib import Path

import pytest

from ci.errors import UsageProblem
from ci.home import Home
from ci.models.compat.answers import Fit
from ci.models.compat.matrix import Subject
from ci.models.lock import Form, FromHub, Local, ModelEntry, Role, Shard
from ci.verbs.compat_subjects import subjects_of
from tests.helpers.model_headers import draft, target, written


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(root=tmp_path / "home", checkout=tmp_path)


def entry(name: str, role: Role, path: Path | None, *, size: int | None = None) -> ModelEntry:
    """A user's file, pinned where there is a path."""
    pins = () if path is None else (Shard(file=path.name, size=size or path.stat().st_size, sha256="0" * 64),)
    local = Local(path=str(path) if path else None, shard=pins)
    return ModelEntry(id=name, about="", role=role, licence="MIT", pair="p", local=local)


def only(
    home: Home, *entries: ModelEntry, models: tuple[str, ...] | None = None, drafts: tuple[str, ...] = ()
) -> Subject:
    ((_, subject),) = subjects_of(home, {one.id: one for one in entries}, models, drafts)
    return subject


def test_a_target_brings_the_draft_of_its_pair(home: Home, tmp_path: Path) -> None:
    files = written(tmp_path / "a.gguf", target()), written(tmp_path / "b.gguf", draft())
    subject = only(home, entry("t", Role.TARGET, files[0]), entry("d", Role.DRAFT, files[1]))
    assert (subject.name, subject.absent) == ("t", ())
    assert subject.target is not None
    assert subject.draft is not None
    assert (subject.target.path, subject.draft.path) == files


@pytest.mark.parametrize("size", [None, 10**9], ids=["not there", "another size"])
def test_a_pinned_model_that_is_not_here_is_cannot_tell_and_keeps_its_size(
    size: int | None, home: Home, tmp_path: Path
) -> None:
    path = written(tmp_path / "a.gguf", target())
    known = entry("t", Role.TARGET, path, size=size)
    if size is None:
        path.unlink()
    subject = only(home, known)
    (absent,) = subject.absent
    assert (subject.target, subject.size) == (None, known.shards[0].size)
    assert (absent.fit, absent.reason, absent.hint) == (
        Fit.UNKNOWN,
        "t is not fetched",
        "invoke fetch-models --model t",
    )


def test_an_unpinned_draft_leaves_its_target_cannot_tell(home: Home, tmp_path: Path) -> None:
    hub = ModelEntry(id="d", about="", role=Role.DRAFT, licence="MIT", pair="p", hub=FromHub(repo="a/b"))
    subject = only(home, entry("t", Role.TARGET, written(tmp_path / "a.gguf", target())), hub)
    assert subject.target is not None
    assert [(one.reason, one.hint) for one in subject.absent] == [("d is not pinned", "invoke pin-model --model d")]


def test_an_unpinned_local_model_asks_for_its_file(home: Home) -> None:
    (absent,) = only(home, entry("t", Role.TARGET, None)).absent
    assert absent.hint == "invoke pin-model --model t --file FILE"


def test_files_of_the_user(home: Home, tmp_path: Path) -> None:
    files = written(tmp_path / "a.gguf", target()), written(tmp_path / "b.gguf", draft())
    subject = only(home, models=(str(files[0]),), drafts=(str(files[1]),))
    assert subject.name == "a.gguf"
    assert subject.draft is not None
    assert only(home, models=(str(files[0]),)).draft is None


def test_as_many_drafts_as_models(home: Home) -> None:
    with pytest.raises(UsageProblem, match="1 drafts for 2 models"):
        list(subjects_of(home, {}, ("a.gguf", "b.gguf"), ("d.gguf",)))


def test_a_checkpoint_has_to_be_converted_first_and_stands_in_no_matrix(home: Home, tmp_path: Path) -> None:
    changed = {"form": Form.CHECKPOINT, "local": None, "hub": FromHub(repo="owner/model")}
    theirs = [entry(f"c{role}", role, None).model_copy(update=changed) for role in (Role.TARGET, Role.DRAFT)]
    ours = entry("t", Role.TARGET, written(tmp_path / "a.gguf", target()))
    subject = only(home, *theirs, ours)
    assert (subject.name, subject.draft, subject.absent) == ("t", None, ())
    for asked, drafts in (("ctarget", ()), ("t", ("cdraft",))):
        first = only(home, *theirs, ours, models=(asked,), drafts=drafts).absent[0]
        assert first.fit is Fit.UNKNOWN
        assert first.reason.endswith("is a checkpoint, which has to be converted first")
        assert first.hint == "invoke convert-draft --draft cdraft --target ctarget"
