"""Edits of generated trees: each is a few small numbers and fits every tree, so nothing drawn is thrown away."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import TypeAlias

from tests.helpers.generated_pools import FOLDERS, WORDS
from tests.helpers.histories import Entry

Tree: TypeAlias = Mapping[bytes, Entry]
Lines: TypeAlias = list[bytes]

PLACES = 12
"""An edit's place is a twelfth of the file: coarse, so that two edits of one file often touch."""


def _code(count: int) -> bytes:
    """Lines as in a source file: some tell where they stand, braces and blanks do not."""
    shape = (b"void f%d() {", b"    int v%d = 0;", b"    v += 1;", b"    return;", b"}", b"")
    return b"".join((shape[n % 6] % n if b"%d" in shape[n % 6] else shape[n % 6]) + b"\n" for n in range(count))


def _numbered(count: int) -> bytes:
    return b"".join(b"int v%d = %d;\n" % (n, n) for n in range(count))


CONTENTS: tuple[Callable[[int], bytes], ...] = (
    _numbered,
    _code,
    lambda n: b"x\n" * n,
    lambda n: b"{\n}\n" * (n // 2 + 1),
    lambda n: _code(n).replace(b"\n", b"\r\n"),
    lambda n: _numbered(n).removesuffix(b"\n"),
    lambda n: bytes(range(256)) * (n // 8 + 1),
    lambda n: b"",
    lambda n: b"// caf\xe9\n" + _code(n),
    lambda n: b"w" * 2000 + b"\n" + _numbered(n),
)


def _swap_ends(lines: Lines, at: int, size: int, word: bytes) -> Lines:
    crlf = any(line.endswith(b"\r\n") for line in lines)
    return [line.replace(b"\r\n", b"\n") if crlf else line.replace(b"\n", b"\r\n") for line in lines]


def _move(lines: Lines, at: int, size: int, word: bytes) -> Lines:
    rest = lines[:at] + lines[at + 2 * size :]
    to = (at + len(rest) // 2) % (len(rest) + 1)
    return rest[:to] + lines[at : at + 2 * size] + rest[to:]


def _final_newline(lines: Lines, at: int, size: int, word: bytes) -> Lines:
    last = lines[-1] if lines else b""
    return [*lines[:-1], last.removesuffix(b"\n") if last.endswith(b"\n") else last + b"\n"]


Edit: TypeAlias = Callable[[Lines, int, int, bytes], Lines]

EDITS: Mapping[str, Edit] = {
    "replace": lambda lines, at, size, word: lines[:at] + [word + b"\n"] * size + lines[at + size :],
    "insert": lambda lines, at, size, word: lines[:at] + [word + b"\n"] * size + lines[at:],
    "remove": lambda lines, at, size, word: lines[:at] + lines[at + size :],
    "repeat": lambda lines, at, size, word: lines[: at + size] + lines[at:],
    "indent": lambda lines, at, size, word: (
        lines[:at] + [b" " + x for x in lines[at : at + size]] + lines[at + size :]
    ),
    "move": _move,
    "append": lambda lines, at, size, word: [*lines, word + b"\n"],
    "rewrite": lambda lines, at, size, word: [word + b"\n"] * size,
    "swap ends": _swap_ends,
    "final newline": _final_newline,
    "empty": lambda lines, at, size, word: [],
    "binary": lambda lines, at, size, word: [*lines[:at], b"\0" + word, *lines[at:]],
}


def put(tree: Tree, path: bytes, entry: Entry) -> Tree:
    """The tree with an entry at `path`; what would be its folder, or lie below it, makes way."""
    kept = {p: e for p, e in tree.items() if not p.startswith(path + b"/") and not path.startswith(p + b"/")}
    return {**kept, path: entry}


def _without(tree: Tree, path: bytes) -> Tree:
    return {p: e for p, e in tree.items() if p != path}


def _rename(tree: Tree, path: bytes, to: bytes) -> Tree:
    return tree if path == to else put(_without(tree, path), to, tree[path])


def _rename_folder(tree: Tree, path: bytes, to: bytes) -> Tree:
    """Move all that lies beside `path` (in its own folder) to another folder."""
    folder = path.rpartition(b"/")[0]
    moved: Tree = {p: e for p, e in tree.items() if not p.startswith(folder + b"/")}
    for p in sorted(tree.keys() - moved.keys()):
        moved = put(moved, to + p.removeprefix(folder), tree[p])
    return moved


def _other_type(entry: Entry, word: bytes) -> Entry:
    if entry.mode == "120000":
        return Entry(entry.data + b"\n")
    return Entry(word.strip() or b"target", "120000")


def _other_mode(entry: Entry) -> Entry:
    return Entry(entry.data, {"100644": "100755", "100755": "100644"}.get(entry.mode, entry.mode))


@dataclass(frozen=True, kw_only=True)
class Change:
    """One drawn change; numbers are taken modulo what there is, so each fits every tree."""

    kind: str
    path: int
    to: int
    at: int
    size: int
    word: int

    def __call__(self, tree: Tree, pool: Sequence[bytes]) -> Tree:
        """The tree after it."""
        names = [p for p in pool if p in tree] or sorted(tree)
        word = WORDS[self.word]
        target = pool[self.to % len(pool)]
        if not names or self.kind == "add":
            return put(tree, target, Entry(CONTENTS[self.at % len(CONTENTS)](self.size * 4)))
        return self._on_file(tree, names[self.path % len(names)], target, word)

    def _on_file(self, tree: Tree, path: bytes, to: bytes, word: bytes) -> Tree:
        entry = tree[path]
        match self.kind:
            case "delete":
                return _without(tree, path)
            case "mode":
                return {**tree, path: _other_mode(entry)}
            case "type":
                return {**tree, path: _other_type(entry, word)}
            case "copy":
                return put(tree, to, entry)
            case "rename":
                return _rename(tree, path, to)
            case "rename folder":
                return _rename_folder(tree, path, FOLDERS[self.to % len(FOLDERS)])
            case "into folder" if not path.startswith(b".git"):  # git's fsck wants a file there
                return put(tree, path + b"/inner", entry)
            case kind if kind in EDITS:
                return {**tree, path: self._edited(entry)}
            case _:
                return tree

    def _edited(self, entry: Entry) -> Entry:
        if entry.mode == "120000":
            return Entry((WORDS[self.word].strip() or b"there")[:200], entry.mode)
        lines = BytesIO(entry.data).readlines()
        at = self.at * len(lines) // PLACES
        return Entry(b"".join(EDITS[self.kind](lines, at, self.size, WORDS[self.word])), entry.mode)
