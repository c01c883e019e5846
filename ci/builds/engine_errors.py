"""The Docker SDK's errors as ours: what was being done, and whether the engine's disk is full."""

import contextlib
from collections.abc import Iterator, Sequence

import requests
from docker import errors as docker_errors

from ci.errors import DiskFull, EngineProblem
from ci.process import NO_SPACE


@contextlib.contextmanager
def engine_errors(doing: str) -> Iterator[None]:
    """Turn the SDK's errors into ours."""
    try:
        yield
    except docker_errors.APIError as error:
        raise refused(doing, error) from error
    except (docker_errors.DockerException, requests.RequestException) as error:
        raise EngineProblem(f"{doing}: {first_line(error)}") from error


def refused(doing: str, error: docker_errors.APIError) -> DiskFull | EngineProblem:
    """The error for an engine's refusal."""
    said = str(error.explanation or error)
    return failed(doing, [said])


def failed(doing: str, said: Sequence[str]) -> DiskFull | EngineProblem:
    """The error for what did not work, with the end of what was said."""
    quote = "".join(f"\n    {line}" for line in said[-12:])
    if any(words.lower() in quote.lower() for words in NO_SPACE):  # Go writes it without a capital
        return DiskFull(
            f"{doing}: the engine has no space left{quote}", hint="docker system df  # what takes its space"
        )
    return EngineProblem(f"{doing} failed{quote}")


def first_line(error: BaseException) -> str:
    """The first line of an error's words, or its kind when it has none."""
    return (str(error).splitlines() or [type(error).__name__])[0]
