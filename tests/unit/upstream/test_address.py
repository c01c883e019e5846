"""How an address reaches git: by its environment, with the password apart from the URL."""

import base64

import pytest

from ci.errors import UsageProblem
from ci.upstream.address import RemoteAddress

PROXY = {"https_proxy": "http://proxy:3128", "GITHUB_TOKEN": "secret"}


def settings(url: str) -> dict[str, str]:
    env = RemoteAddress(url=url, alias="there", environ=PROXY).environment()
    return {env[f"GIT_CONFIG_KEY_{n}"]: env[f"GIT_CONFIG_VALUE_{n}"] for n in range(int(env["GIT_CONFIG_COUNT"]))}


@pytest.mark.parametrize(
    ("url", "plain", "host", "pair"),
    [
        ("https://me:pw@example.org/r.git", "https://example.org/r.git", "example.org", b"me:pw"),
        ("https://token@example.org:8443/r", "https://example.org:8443/r", "example.org:8443", b"token:"),
        ("https://a%40b:p%3A%2F@example.org/r", "https://example.org/r", "example.org", b"a@b:p:/"),
        ("https://me:p@w@example.org/r", "https://example.org/r", "example.org", b"me:p@w"),
    ],
)
def test_a_password_goes_apart_and_to_its_host_only(url: str, plain: str, host: str, pair: bytes) -> None:
    assert settings(url) == {
        "remote.there.url": plain,
        f"http.https://{host}/.extraHeader": f"Authorization: Basic {base64.b64encode(pair).decode()}",
    }


@pytest.mark.parametrize(
    "url", ["https://example.org/a@b", "ssh://git@example.org/r", "git@example.org:r", "file:///r", "/srv/r"]
)
def test_an_address_without_password_is_left_as_it_is(url: str) -> None:
    assert settings(url) == {"remote.there.url": url}


def test_a_relative_path_is_made_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("/")
    assert settings("srv/r") == {"remote.there.url": "/srv/r"}


def test_only_what_git_needs_passes() -> None:
    env = RemoteAddress(url="/r", alias="there", environ=PROXY).environment()
    assert env["https_proxy"] == "http://proxy:3128"
    assert "GITHUB_TOKEN" not in env


def test_the_password_is_not_shown() -> None:
    remote = RemoteAddress(url="https://me:hunter2@example.org/r", alias="there", environ={})
    assert "hunter2" not in repr(remote) + remote.shown


def test_an_address_of_another_kind_is_refused() -> None:
    with pytest.raises(UsageProblem, match="transport helper"):
        RemoteAddress(url="ext::sh -c id", alias="there", environ={})
