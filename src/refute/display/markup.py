"""HTML from templates: whole pages that fetch nothing, and parts for notebooks that leave their style alone.

Whatever comes from data is escaped. A page allows the one script that it ships with, by its hash, so that nothing else
could run even if it got in.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from refute.display.harmless import in_html, in_json

if TYPE_CHECKING:
    from jinja2 import Environment

_FOLDER = "templates"


@dataclass(frozen=True, slots=True)
class Follows:
    """How a page that is served learns of a newer one: it asks so often for another version than its own."""

    version: str
    seconds: int


def page(template: str, *, follows: Follows | None = None, **values: Any) -> str:
    """A whole page, by a template that extends `page.html`; it fetches nothing, unless it `follows` what serves it."""
    script = _text("page.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    found = _environment().get_template(template)
    return in_html(found.render(script=script, script_hash=digest, follows=follows, **values))


def part(template: str, **values: Any) -> str:
    """A part of a page for a notebook: its style is its own, and no other element gets it."""
    inside = _environment().get_template(template).render(**values)
    return in_html(_environment().get_template("part.html").render(inside=_safe(inside)))


def table_part(caption: str, head: Sequence[str], rows: Sequence[Sequence[object]], more: int = 0) -> str:
    """A table for a notebook, with a line that says how many rows are left out."""
    return part("table.html", caption=caption, head=head, rows=rows, more=more)


def drawing(template: str, **values: Any) -> Any:
    """A picture as SVG, to be put into a page or a part as it is."""
    return _safe(_environment().get_template(template).render(**values))


def piece(template: str, **values: Any) -> Any:
    """What a template makes, to be put into a page or a part as it is."""
    return _safe(_environment().get_template(template).render(**values))


def size_in_script(value: object) -> int:
    """How many bytes a value takes where a script reads it."""
    return len(_data(value).encode("utf-8", "surrogatepass"))


def _safe(text: str) -> Any:
    from markupsafe import Markup

    return Markup(text)


def _data(value: object) -> Any:
    """A value for a script to read, in a form that ends no element and begins none."""
    text = in_json(json.dumps(value, ensure_ascii=False, separators=(",", ":")))
    return _safe(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


@cache
def _text(name: str) -> str:
    return files("refute.display").joinpath(_FOLDER, name).read_text(encoding="utf-8")


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    found = Environment(
        loader=PackageLoader("refute.display", _FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters["data"] = _data
    found.filters["thousands"] = lambda number: f"{number:,}"
    found.globals["look"] = _safe(_text("look.css"))
    return found
