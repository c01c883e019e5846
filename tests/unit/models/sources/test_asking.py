"""Where a redirect may lead."""

import pytest

from ci.errors import DownloadFailed
from ci.models.sources.asking import Wanted, _next

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
