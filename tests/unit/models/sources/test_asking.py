"""Where a redirect may lead."""

import pytest

from ci.errors import DownloadFailed
from ci.models.sources.asking import Wanted, _next, asked_wait_s

HTTPS = "https://example.org/a/m.gguf"


@pytest.mark.parametrize(
    ("address", "location", "target"),
    [
        (HTTPS, "/b.gguf", "https://example.org/b.gguf"),
        (HTTPS, "//cdn.example.org/b", "https://cdn.example.org/b"),
        ("http://example.org/a", "https://cdn.example.org/b", "https://cdn.example.org/b"),
        ("http://example.org/a", "http://cdn.example.org/b", "http://cdn.example.org/b"),
    ],
)
def test_a_redirect_is_followed(address: str, location: str, target: str) -> None:
    assert _next(Wanted(address=address), address, location) == target


@pytest.mark.parametrize("location", ["http://example.org/a/m.gguf", "file:///etc/passwd", "ftp://example.org/a", ""])
def test_a_redirect_never_leads_out_of_https(location: str) -> None:
    with pytest.raises(DownloadFailed, match=f"{HTTPS}: redirects to {location or 'nothing'}"):
        _next(Wanted(address=HTTPS), HTTPS, location)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("", 0.0),
        ("7", 7.0),
        ("3600", 60.0),
        ("-5", 0.0),
        ("9" * 5000, 0.0),
        ("soon", 0.0),
        ("Fri, 31 Dec 1999 23:59:59 GMT", 0.0),
        ("Fri, 31 Dec 2999 23:59:59 GMT", 60.0),
    ],
)
def test_a_server_is_given_the_time_it_asks_for_within_bounds(text: str, seconds: float) -> None:
    assert asked_wait_s(text) == seconds
