"""Programs that answer while they run."""

import pytest

from ci.dialogue import Dialogue
from ci.errors import CommandFailed, DiskFull
from ci.process import scrubbed_env
from tests.helpers.programs import alive, python, wait_gone

ECHO = "import sys\nfor line in sys.stdin: print('heard', line.strip(), flush=True)"
STUBBORN = "import sys\nwords = sys.stdin.read()\nprint('all of', len(words))"


def heard(dialogue: Dialogue, end: bytes) -> bytes:
    said = b""
    while not said.endswith(end):
        said += dialogue.hear() or b""
    return said


def test_a_dialogue_answers_again_and_again() -> None:
    with Dialogue(python(ECHO), env=scrubbed_env()) as dialogue:
        for words in (b"one\n", b"two\n"):
            dialogue.tell(words)
            assert heard(dialogue, b"\n") == b"heard " + words


def test_a_program_that_waits_for_the_end_of_its_input_is_noticed() -> None:
    with Dialogue(python(STUBBORN), env=scrubbed_env()) as dialogue:
        dialogue.tell(b"abc")
        assert dialogue.hear(patience=0.2) is None
        dialogue.no_more_input()
        assert heard(dialogue, b"\n") == b"all of 3\n"


def test_a_program_that_dies_is_an_error_that_quotes_it() -> None:
    code = "import sys; sys.stdin.readline(); sys.stdout.write('half an'); sys.stdout.flush(); sys.exit('broken')"
    with Dialogue(python(code), env=scrubbed_env()) as dialogue:
        dialogue.tell(b"ask\n")
        assert heard(dialogue, b"an") == b"half an"
        with pytest.raises(CommandFailed, match=r"(?s)exit code 1 .*broken"):
            dialogue.hear()


def test_a_program_that_no_longer_reads_is_an_error_that_quotes_it() -> None:
    code = "import os, sys; os.close(0); print('closed', flush=True); sys.exit('not listening')"
    with Dialogue(python(code), env=scrubbed_env()) as dialogue:
        assert heard(dialogue, b"\n") == b"closed\n"
        with pytest.raises(CommandFailed, match="not listening"):
            dialogue.tell(b"ask\n")


def test_a_program_without_room_is_told_as_a_full_disk() -> None:
    code = "import sys; sys.exit('No space left on device')"
    with Dialogue(python(code), env=scrubbed_env()) as dialogue, pytest.raises(DiskFull):
        dialogue.hear()


def test_a_program_that_is_still_asked_ends_with_the_block() -> None:
    code = "import os, time; print(os.getpid(), flush=True); time.sleep(600)"
    with Dialogue(python(code), env=scrubbed_env()) as dialogue:
        pid = int(heard(dialogue, b"\n"))
        assert alive(pid)
    assert wait_gone(pid)
