"""Which hub the environment names, and the user's token: looked at before the hub's library, which fails on odd ones.

Nothing here loads that library.
"""

from collections.abc import Mapping
from urllib.parse import urlsplit

from ci.errors import UsageProblem
from ci.redact import without_credentials

HUB = "https://huggingface.co"
MOST_OF_LABEL = 63


def endpoint_of(environ: Mapping[str, str]) -> str:
    """The hub to ask.

    Raises:
        UsageProblem: HF_ENDPOINT is no http(s) address of a host.
    """
    endpoint = (environ.get("HF_ENDPOINT") or HUB).rstrip("/")
    if not _is_host(endpoint):
        raise UsageProblem(
            f"HF_ENDPOINT is {without_credentials(endpoint)!r}, not http(s)://HOST",
            hint="unset HF_ENDPOINT, or name a hub: export HF_ENDPOINT=https://huggingface.co",
        )
    return endpoint


def _is_host(endpoint: str) -> bool:
    """Whether paths can be appended to it."""
    try:
        found = urlsplit(endpoint)
        has_host = bool(found.hostname) and (found.port or 1) > 0 and _is_name(found.hostname or "")
    except ValueError:
        return False
    plain = all("!" <= letter <= "~" for letter in endpoint) and not set(endpoint) & set("?#\\")
    return plain and has_host and found.scheme in ("http", "https")


def _is_name(host: str) -> bool:
    """Whether a host has no empty or too long label (RFC 1035, 2.3.4)."""
    return all(0 < len(label) <= MOST_OF_LABEL for label in host.removesuffix(".").split("."))


def token_of(environ: Mapping[str, str]) -> str | None:
    """The user's token for the hub, if there is one.

    Raises:
        UsageProblem: letters that no header can hold: a library would refuse them, and quote the token.
    """
    token = environ.get("HF_TOKEN", "").strip()
    if not all("!" <= letter <= "~" for letter in token):
        raise UsageProblem(
            "HF_TOKEN holds blanks, line ends or letters that no token has", hint="export HF_TOKEN=hf_..."
        )
    return token or None
