"""Diffs as git itself writes them, read by `ci.series.hunks`."""

from os import fsdecode
from pathlib import Path

import pytest

from ci.series.absorbed import Landed, landed, share_present
from ci.series.hunks import parse_diff
from ci.series.patch_diff import stray_line
from ci.series.placement import ambiguous, moved, moved_words
from tests.helpers.diffs import render_diff
from tests.helpers.histories import Entry, Files, Past, changed, numbered

OLD: Files = {
    "plain.txt": numbered(40),
    "crlf.txt": numbered(9, end="\r\n"),
    "latin.c": b"caf\xe9\nsame\n",
    "no-end.txt": b"a\nb",
    "gains-end.txt": b"a",
    "loses-end.txt": b"a\n",
    "goes.txt": b"bye\n",
    "moves.txt": numbered(20),
    "run.sh": b"#!/bin/sh\n",
    "link": Entry(b"plain.txt", "120000"),
    "becomes-link": b"text\n",
    "logo.bin": b"\0\1\2" * 50,
    "emptied.txt": b"all\n",
    "dashes.sql": b"-- a\n-- b\n",
}
NEW: Files = {
    "plain.txt": b"top\n" + changed(changed(numbered(40), 5), 30),
    "crlf.txt": changed(numbered(9, end="\r\n"), 4),
    "latin.c": b"caf\xe9\nothe\xff\n",
    "no-end.txt": b"a\nc",
    "gains-end.txt": b"a\n",
    "loses-end.txt": b"a",
    "moved/elsewhere.txt": changed(numbered(20), 7),
    "run.sh": Entry(b"#!/bin/sh\n", "100755"),
    "link": Entry(b"latin.c", "120000"),
    "becomes-link": Entry(b"plain.txt", "120000"),
    "logo.bin": b"\0\3\2" * 50,
    "emptied.txt": b"",
    "empty.txt": b"",
    "new.txt": b"++ a\n-- b\n\n",
    "dashes.sql": b"++ a\n-- b\n",
    "odd name\t\xe9.txt": b"x\n",
}


@pytest.mark.parametrize(
    "options", [(), ("-M",), ("--unified=0",), ("--no-renames",), ("-B", "-M", "-C", "--find-copies-harder")]
)
def test_what_git_writes_is_read_back_with_gits_own_names(tmp_path: Path, options: tuple[str, ...]) -> None:
    past = Past(tmp_path)
    old, new = past.build("b1", OLD), past.build("b2", NEW)
    diff = past.git("diff", "--binary", "--full-index", *options, old, new).stdout
    files = parse_diff(diff)
    assert render_diff(files) == diff
    assert stray_line(diff, 0) is None
    names = past.git("diff", "--name-only", "-z", *options, old, new).stdout.split(b"\0")[:-1]
    assert list(dict.fromkeys(file.path for file in files)) == [fsdecode(name) for name in names]
    for file in files:
        before, after = (tree.get(path or "") for tree, path in ((OLD, file.old), (NEW, file.new)))
        assert (file.old is None) == (before is None)
        assert (file.new is None) == (after is None)
        for hunk in file.hunks:
            assert hunk.preimage in data(before)
            assert hunk.postimage in data(after)


def data(content: bytes | Entry | None) -> bytes:
    return content.data if isinstance(content, Entry) else content or b""


def test_a_patch_that_git_rebased_is_told_where_it_landed_and_what_upstream_has(tmp_path: Path) -> None:
    past = Past(tmp_path)
    base = past.build("b1", {"f.txt": numbered(40), "g.txt": numbered(9)})
    aim_files = {"f.txt": b"a\nb\n" + numbered(40), "g.txt": changed(numbered(9), 5)}
    aim = past.build("b2", aim_files)
    patch = {"f.txt": changed(numbered(40), 12), "g.txt": changed(numbered(9), 5)}
    ours = past.commit(past.tree(patch), [base], "ours")
    merged = past.git("merge-tree", "--write-tree", aim, ours).text
    before, after = (past.git("diff", a, b).stdout for a, b in ((base, ours), (aim, merged)))
    assert moved_words(moved(before, after)) == ("f.txt: offset +2", "g.txt: reshaped")
    assert ambiguous(after, aim_files) == ()
    share = share_present(before, before={"f.txt": numbered(40), "g.txt": numbered(9)}.get, aim=aim_files.get)
    assert (share.present, share.total, landed(share)) == (1, 2, Landed.PART)
