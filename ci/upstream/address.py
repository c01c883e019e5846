"""The address of a git remote: which kinds we talk to, and how one reaches git without standing on a command line.

Git hands a remote's URL to its https helper as an argument, where every user of the machine can read it. So the
address travels in the environment, and a name and password in it travel as a header, apart from the URL.
"""

import base64
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ci.errors import UsageProblem
from ci.redact import without_credentials

SCHEMES = ("https", "ssh", "file")
PASSED = ("SSH_AUTH_SOCK", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy", "NO_PROXY", "no_proxy",
          "GIT_SSL_CAINFO", "SSL_CERT_FILE", "SSL_CERT_DIR")  # fmt: skip
"""What a git that talks to a remote may see of the caller's environment."""

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://(.*)", re.DOTALL)
_HELPER = re.compile(r"[^/\[]*::")
_SSH_SHORT = re.compile(r"(?:[^/:@]+@)?(\[[^/\]]*\]|[^/:]+):.*", re.DOTALL)
_HTTPS_USER = re.compile(r"(https://)([^/?#]*)@([^/?#]*)(.*)", re.DOTALL | re.IGNORECASE)


def checked_address(address: str) -> str:
    """The address of a remote, when it is of a kind that we talk to.

    Raises:
        UsageProblem: looks like an option, names a transport helper or another protocol, or holds control characters.
    """
    shown = without_credentials(address)
    if not address or address.startswith("-"):
        raise _refused(shown, "is empty or begins with a dash")
    if not address.isprintable():
        raise _refused(shown.encode("unicode_escape").decode(), "holds control characters")
    if _HELPER.match(address):
        raise _refused(shown, "names a transport helper")
    scheme = _SCHEME.fullmatch(address)
    if scheme and scheme[1] not in SCHEMES:
        raise _refused(shown, f"uses {scheme[1]}, not one of {', '.join(SCHEMES)}")
    if _host(address, scheme).startswith("-"):
        raise _refused(shown, "has a host that begins with a dash")
    return address


def _host(address: str, scheme: "re.Match[str] | None") -> str:
    if scheme:
        return scheme[2].partition("/")[0].rpartition("@")[2]
    short = _SSH_SHORT.fullmatch(address)
    return short[1] if short else ""


def _refused(shown: str, why: str) -> UsageProblem:
    return UsageProblem(
        f"git remote {shown!r} {why}", hint="give an https:// or ssh:// address, or the path of a repository"
    )


@dataclass(frozen=True, kw_only=True)
class RemoteAddress:
    """A remote as git is told of it.

    Attributes:
        url: URL or path; checked on construction.
        alias: what git calls it, on command lines and in its configuration.
        environ: environment to take proxies and the ssh agent from.
    """

    url: str = field(repr=False)
    alias: str
    environ: Mapping[str, str] = field(repr=False)

    def __post_init__(self) -> None:
        checked_address(self.url)

    @property
    def shown(self) -> str:
        """The address without credentials."""
        return without_credentials(self.url)

    def environment(self) -> dict[str, str]:
        """Variables that tell one git process of the remote, beside the fixed ones of `ci.git`."""
        url, header = _apart(self.url)
        is_path = not _SCHEME.fullmatch(url) and not _SSH_SHORT.fullmatch(url)
        settings = [(f"remote.{self.alias}.url", str(Path(url).resolve()) if is_path else url), *header]
        numbered: dict[str, str] = {}
        for number, (key, value) in enumerate(settings):
            numbered |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
        passed = {name: self.environ[name] for name in PASSED if name in self.environ}
        return {
            **passed,
            **numbered,
            "GIT_CONFIG_COUNT": str(len(settings)),
            "GIT_SSH_COMMAND": "ssh -oBatchMode=yes",
        }


def _apart(url: str) -> tuple[str, tuple[tuple[str, str], ...]]:
    """An https address without its user part, and that part as a setting that only this host gets to see."""
    found = _HTTPS_USER.fullmatch(url)
    if not found:
        return url, ()
    scheme, user, host, rest = found.groups()
    name, _, password = user.partition(":")
    pair = base64.b64encode(_unquoted(name) + b":" + _unquoted(password)).decode()
    return f"{scheme}{host}{rest}", ((f"http.{scheme}{host}/.extraHeader", f"Authorization: Basic {pair}"),)


def _unquoted(text: str) -> bytes:
    return re.sub(rb"%([0-9A-Fa-f]{2})", lambda code: bytes([int(code[1], 16)]), text.encode())
