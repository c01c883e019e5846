import pytest
from hypothesis import given
from hypothesis import strategies as st

from ci.redact import quoted_lines, without_credentials


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("https://user:secret@example.org/x", "https://***@example.org/x"),
        ("https://token@example.org/x", "https://***@example.org/x"),
        ("https://u:p@ss@example.org/x", "https://***@example.org/x"),
        (
            "see https://u:p@a.example.org and ssh://git@b.example.org/r",
            "see https://***@a.example.org and ssh://***@b.example.org/r",
        ),
        ("https://example.org/x?token=secret#frag", "https://example.org/x?***"),
        ("https://example.org/@scope/x", "https://example.org/@scope/x"),
        ("git@example.org:owner/repo", "git@example.org:owner/repo"),
        ("nothing here", "nothing here"),
    ],
)
def test_user_names_passwords_and_queries_are_masked(text: str, shown: str) -> None:
    assert without_credentials(text) == shown


@given(st.from_regex(r"[a-z0-9:@]{1,12}", fullmatch=True))
def test_no_user_info_gets_through(secret: str) -> None:
    assert without_credentials(f"https://{secret}@example.org/path") == "https://***@example.org/path"


def test_what_a_remote_says_is_quoted_without_secrets_and_control_characters() -> None:
    said = ["remote: no\x1b[2J", "fatal: https://me:token@host/x"]
    assert quoted_lines(said) == "    remote: no?[2J\n    fatal: https://***@host/x"
