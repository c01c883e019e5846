"""Archives used on a bare system: a server that answers there, and the ways in which one does not."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from ci.builds.bare import Used, use_archive
from ci.builds.contained import build_contained
from ci.builds.engine import Engine
from ci.builds.package import pack_build
from ci.builds.store import Build
from ci.builds.toolchain.image import ToolchainImage
from ci.console import Console
from ci.errors import ArchiveProblem
from ci.home import Home
from ci.stages.audit import BARE
from tests.helpers.cuda_project import SmallProject, request

SERVER = r"""
#include <arpa/inet.h>
#include <cstdio>
#include <cstring>
#include <string>
#include <unistd.h>
#include "version.h"

int main(int argc, char ** argv) {
    if (argc == 2) { std::printf("version: 0.1 (build %d, commit %s)\n", NUMBER, LABEL); return 0; }
    MOOD
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(8080);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (bind(listener, reinterpret_cast<sockaddr *>(&at), sizeof at) || listen(listener, 8)) return 1;
    for (;;) {
        int peer = accept(listener, nullptr, nullptr);
        char asked[4096] = {};
        if (read(peer, asked, sizeof asked - 1) < 0) return 1;
        std::string body = std::strstr(asked, "/completion") ? "{\"tokens\": [REPLY]}" : "{\"status\": \"ok\"}";
        std::string answer = "HTTP/1.0 200 OK\r\n\r\n" + body + "\n";
        if (write(peer, answer.data(), answer.size()) < 0) return 1;
        shutdown(peer, SHUT_WR);
        while (read(peer, asked, sizeof asked) > 0) {} // closing on a question half read would take the answer back
        close(peer);
    }
}
"""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.gguf"
    path.write_bytes(b"GGUF")
    return path


class Maker:
    """Archives of the small project with a server of some mood."""

    def __init__(self, project: SmallProject, engine: Engine, toolchain: ToolchainImage, folder: Path) -> None:
        self.project, self.engine, self.toolchain, self.folder = project, engine, toolchain, folder
        self.home = Home(root=folder / "home", checkout=folder)

    def build(self, *, reply: str = "5, 7", mood: str = "") -> Build:
        server = SERVER.replace("REPLY", reply).replace("MOOD", mood)
        changes: Mapping[str, str] = {"main.cpp": server}
        asked = request(self.project.tree(changes))
        made = build_contained(self.project.git, asked, self.home, Console(), self.engine, self.toolchain, environ={})
        return made.build

    def archive(self, *, reply: str = "5, 7", mood: str = "") -> Path:
        return pack_build(self.build(reply=reply, mood=mood), self.folder / "out")


@pytest.fixture
def make(project: SmallProject, engine: Engine, toolchain: ToolchainImage, tmp_path: Path) -> Maker:
    return Maker(project, engine, toolchain, tmp_path)


def use(engine: Engine, archive: Path, model: Path, label: str = "b7") -> Used:
    image = engine.image(BARE)
    assert image is not None, f"the engine has no image {BARE}: run .ci/engine"
    return use_archive(engine, image.id, archive, model, prompt=1, count=2, label=label)


def test_a_server_that_answers_on_a_bare_system_is_heard(make: Maker, engine: Engine, model: Path) -> None:
    archive = make.archive()
    assert use(engine, archive, model) == Used(version="version: 0.1 (build 7, commit b7)", tokens=(5, 7))
    with pytest.raises(ArchiveProblem, match=r"names no b8: .*commit b7"):
        use(engine, archive, model, label="b8")


@pytest.mark.parametrize(
    ("reply", "mood", "words"),
    [
        ("null", "", "completes nothing"),
        ("5", 'std::fprintf(stderr, "no such model\\n"); return 1;', "no such model"),
    ],
)
def test_a_server_that_does_not_answer_is_quoted(
    make: Maker, engine: Engine, model: Path, reply: str, mood: str, words: str
) -> None:
    with pytest.raises(ArchiveProblem, match=words):
        use(engine, make.archive(reply=reply, mood=mood), model)


def test_a_program_made_for_a_newer_system_does_not_start(
    make: Maker, engine: Engine, model: Path, stock_build: Build, tmp_path: Path
) -> None:
    """This machine's own build asks for this machine's C library; where it is old, a model is missing."""
    archive = pack_build(stock_build, tmp_path / "out")
    with pytest.raises(ArchiveProblem, match=r"GLIBC_2\.\d+' not found|completes nothing"):
        use(engine, archive, model, label=stock_build.label)
