"""The one door to jinja2: fill a template of ours, strictly."""

from collections.abc import Callable, Mapping
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined


def render_template(
    folder: Path,
    name: str,
    values: Mapping[str, object],
    *,
    filters: Mapping[str, Callable[..., object]],
    finalize: Callable[[object], object],
    autoescape: bool,
) -> str:
    """Fill a template.

    Args:
        folder: where the template stands.
        name: its file name.
        values: what it may use; an unknown name in the template is an error.
        filters: functions that the template may pipe values through, by name.
        finalize: applied to every value before it is written.
        autoescape: escape values for HTML.
    """
    environment = Environment(
        loader=FileSystemLoader(folder),
        undefined=StrictUndefined,
        autoescape=autoescape,  # noqa: S701 - off only for Markdown, whose `finalize` escapes
        finalize=finalize,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(filters)
    return environment.get_template(name).render(**values)
