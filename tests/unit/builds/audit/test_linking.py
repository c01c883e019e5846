"""What the loader looks for: needed libraries, run paths, and what must come from the driver."""

from dataclasses import replace

import pytest

from ci.builds.audit.linking import driver, needed, place_of, resolve, runpath
from ci.builds.audit.values import Bundle, Member
from ci.outcome import Verdict
from tests.helpers.bundles import LANE, sound, strange, the, verdict_of, with_elf, with_member

SERVER = "llama-server"


def test_everything_is_found() -> None:
    (finding,) = needed(sound())
    assert finding.verdict is Verdict.PASS
    assert finding.found == "all of it, from outside: libc.so.6 libcuda.so.1 libcudart.so.13"


def test_a_missing_library_is_named_with_those_who_need_it() -> None:
    bundle = with_elf(SERVER, needed=("libgomp.so.1", "libllama.so.0"))
    finding = the(needed(bundle))
    assert (finding.file, finding.found) == (SERVER, "libgomp.so.1 is not found")
    assert finding.words == "needed by llama-server"


def test_many_who_need_it_are_counted() -> None:
    bundle = sound()
    elves = {name: replace(elf, needed=("libgomp.so.1",)) for name, elf in bundle.elves.items()}
    more = {f"libx{at}.so": replace(elves[SERVER], program=False) for at in range(2)}
    finding = the(needed(replace(bundle, elves={**elves, **more})))
    assert finding.words == "needed by libggml-cuda.so, libllama.so.0, libx0.so and 2 more"


def test_a_library_of_a_library_is_looked_for_too() -> None:
    bundle = with_elf("libllama.so.0", needed=("libggml-base.so.0",))
    assert the(needed(bundle)).words == "needed by libllama.so.0"


def test_a_library_in_the_archive_that_nobody_is_led_to() -> None:
    finding = the(needed(with_elf(SERVER, runpath=None)))
    assert finding.found == "libllama.so.0 is not found"
    assert "it is in the archive as libllama.so.0, where the run path of these does not lead" in finding.words


def test_a_library_under_another_name_is_not_found() -> None:
    assert the(needed(with_elf(SERVER, needed=("libllama.so",)))).found == "libllama.so is not found"


def test_a_link_gives_a_library_another_name() -> None:
    bundle = with_elf(SERVER, needed=("libllama.so",))
    link = Member(name="libllama.so", kind="link", to="libllama.so.0")
    assert verdict_of(needed(replace(bundle, members={**bundle.members, link.name: link}))) is Verdict.PASS


def test_runpath_wins_over_rpath_as_with_the_loader() -> None:
    assert verdict_of(needed(with_elf(SERVER, rpath="$ORIGIN", runpath=None))) is Verdict.PASS
    assert verdict_of(needed(with_elf(SERVER, rpath="$ORIGIN", runpath="$ORIGIN/lib"))) is Verdict.FAIL


def test_what_a_stranger_needs_from_outside_is_unproven() -> None:
    finding = the(needed(strange(with_elf("libggml-cuda.so", needed=()))), Verdict.UNPROVEN)
    assert finding.found == "libc.so.6 is not found"
    assert "nobody told us what the user's system has" in finding.words


def test_what_a_stranger_has_and_does_not_find_is_a_fault() -> None:
    assert the(needed(strange(with_elf(SERVER, runpath=None)))).found == "libllama.so.0 is not found"


@pytest.mark.parametrize(
    ("file", "path", "place"),
    [
        ("llama-server", "$ORIGIN", "."),
        ("llama-server", "${ORIGIN}", "."),
        ("llama-server", "$ORIGIN/../lib", None),
        ("bin/llama-server", "$ORIGIN/../lib", "lib"),
        ("bin/llama-server", "$ORIGIN/../..", None),
        ("llama-server", "$ORIGINAL", None),
        ("llama-server", "lib", None),
        ("llama-server", "/usr/lib", None),
        ("llama-server", "", None),
    ],
)
def test_places_of_run_paths(file: str, path: str, place: str | None) -> None:
    assert place_of(file, path) == place


@pytest.mark.parametrize("path", ["$ORIGIN", "${ORIGIN}", "$ORIGIN/.", None])
def test_run_paths_that_stay(path: str | None) -> None:
    assert verdict_of(runpath(with_elf(SERVER, runpath=path))) is Verdict.PASS


@pytest.mark.parametrize("kind", ["rpath", "runpath"])
@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("", "an empty element"),
        ("$ORIGIN:", "an empty element"),
        ("$ORIGIN::$ORIGIN", "an empty element"),
        ("/place/build/bin", "/place/build/bin is a place on the machine that built it"),
        ("$ORIGIN:/usr/local/cuda/lib64/stubs", "/usr/local/cuda/lib64/stubs is a place"),
        ("$ORIGIN/../lib", "$ORIGIN/../lib is not in the archive"),
        ("lib", "lib is not in the archive"),
    ],
)
def test_run_paths_that_lead_away(kind: str, path: str, words: str) -> None:
    finding = the(runpath(with_elf(SERVER, **{kind: path})))
    assert finding.file == SERVER
    assert finding.found == f"{kind.upper()} {path}"
    assert finding.words.startswith(words)


@pytest.mark.parametrize("name", ["libcuda.so.1", "libcuda.so", "libnvidia-ml.so.1", "lib/libcuda.so.580.1"])
def test_a_library_of_the_driver_ships(name: str) -> None:
    bundle = with_elf(name)
    assert the(driver(bundle)).file == name
    assert the(driver(strange(bundle))).file == name


def test_a_link_by_the_name_of_the_driver_ships() -> None:
    link = Member(name="libcuda.so.1", kind="link", to="libllama.so.0")
    assert the(driver(with_member(link))).found == "it is named libcuda.so.1"


def test_a_stand_in_is_known_by_its_soname_and_by_what_it_defines() -> None:
    assert the(driver(with_elf("libhelp.so", soname="libcuda.so.1"))).found == "it is named libcuda.so.1"
    finding = the(driver(with_elf("libhelp.so", driver_functions=("cuMemCreate", "cuMemMap"))))
    assert (finding.file, finding.found) == ("libhelp.so", "it defines cuMemCreate, cuMemMap")


def test_what_a_lane_calls_the_drivers_is_the_drivers() -> None:
    lane = replace(LANE, driver=("libmore.so.1",))
    bundle = replace(strange(with_elf("libmore.so.1")), companions=lane)
    assert the(driver(bundle)).found == "it is named libmore.so.1"


def test_asking_for_the_driver_is_fine() -> None:
    assert "libcuda.so.1" in sound().elves["libggml-cuda.so"].needed
    assert verdict_of(driver(sound())) is Verdict.PASS


def linked(*links: tuple[str, str]) -> Bundle:
    return sound(members={name: Member(name=name, kind="link", to=to) for name, to in links})


def test_links_are_followed_to_an_end() -> None:
    bundle = with_member(Member(name="a/b", kind="link", to="../libllama.so.0"))
    assert resolve(bundle, "a/b") == "libllama.so.0"
    assert resolve(linked(("a", "b"), ("b", "a")), "a") is None
    assert resolve(linked(("a", "/etc/passwd")), "a") is None
    assert resolve(linked(), "a") is None
