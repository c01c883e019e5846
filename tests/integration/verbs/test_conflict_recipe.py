"""The recipe under "A conflict" in docs/maintainer.md, run as it is written there."""

import re
from pathlib import Path

import pytest

from ci.console import Console
from ci.errors import SeriesConflict
from ci.home import Home
from ci.process import run, scrubbed_env
from ci.series.order import load_series
from ci.verbs import rebase
from ci.verbs.rebase import Request
from tests.helpers.histories import Past, changed, numbered

DOCUMENT = Path(__file__).parents[3] / "docs" / "maintainer.md"
BY_HAND = "# edit the files"
LINES = numbered(30)
COMMITTER = {"GIT_COMMITTER_NAME": "A Maintainer", "GIT_COMMITTER_EMAIL": "maintainer@example.org"}


def recipe() -> tuple[str, str]:
    """The commands before and after the part that a person does by hand, for b101."""
    section = DOCUMENT.read_text(encoding="utf-8").split("## A conflict\n")[1]
    block = section.split("```sh\n")[1].split("```")[0].replace("b11434", "b101")
    before, after = block.split(BY_HAND)
    return before, after.partition("\n")[2]


def test_the_recipe_takes_a_series_through_a_conflict(tmp_path: Path) -> None:
    home = Home(root=tmp_path / "a state", checkout=tmp_path / "a checkout")
    past = Past(home.root)
    past.build("b100", {"a.txt": LINES, "b.txt": LINES})
    past.patch("first", {"a.txt": changed(LINES, 12)})
    past.patch("second", {"b.txt": changed(LINES, 20)})
    past.build("b101", {"a.txt": changed(LINES, 12, b"upstream's"), "b.txt": b"new\n" + LINES})
    past.save(home.patches)
    with pytest.raises(SeriesConflict) as caught:
        rebase.rebase(home, Console(), Request(onto="b101", dry_run=False))
    assert "see 'A conflict' in docs/maintainer.md" in caught.value.hint
    before, after = recipe()
    mended = "printf '%s' \"$MENDED\" >a.txt && git add a.txt && git -c core.editor=true am --continue"
    merged = changed(LINES, 12, b"both").decode()
    env = {"SPEEDFORK_HOME": str(home.root), "MENDED": merged, "TMPDIR": str(tmp_path), **COMMITTER}
    argv = ("bash", "-c", f"{before}\n{mended} || exit 9\n{after}\n")
    done = run(argv, cwd=home.checkout, env=scrubbed_env(extra=env))
    [tree] = re.findall(r"^[0-9a-f]{40}$", done.text, re.MULTILINE)
    assert tree == past.git.tree_of("b101")
    (home.patches / "base.toml").write_text(f'tag = "b101"\ntree = "{tree}"\nrevision = 1\n', encoding="utf-8")
    rebase.rebase(home, Console(), Request(onto="b101", dry_run=False))
    assert load_series(home.patches).ids == ("first", "second")
    assert past.content("refs/heads/speed/b101", "a.txt").decode() == merged
    assert past.content("refs/heads/speed/b101", "b.txt") == b"new\n" + changed(LINES, 20)
    assert list(tmp_path.glob("tmp.*")) == []
