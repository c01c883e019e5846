"""Were two builds made alike? What differs beside the sources would be measured as if it were the patches."""

from collections.abc import Mapping

OWN_OPTIONS = frozenset({"LLAMA_BUILD_NUMBER", "LLAMA_BUILD_COMMIT"})
"""Options that name a build and change nothing else. The number comes from the tag, which is compared."""


def shared_options(options: Mapping[str, str]) -> dict[str, str]:
    """The options that stock and speed have in common when they were made alike."""
    return {name: value for name, value in options.items() if name not in OWN_OPTIONS}


def differences(left: Mapping[str, str], right: Mapping[str, str]) -> tuple[str, ...]:
    """What differs between the makings of two builds, in words; empty when they were made alike.

    Args:
        left: words by name, see :attr:`ci.builds.store.Build.making`.
        right: the same of the other build.
    """
    names = sorted({*left, *right})
    return tuple(
        f"{name} is {left.get(name, 'not there')!r} and {right.get(name, 'not there')!r}"
        for name in names
        if left.get(name) != right.get(name)
    )
