"""Rules in words and symbols: our text, logic notation, SQL and English."""

from refute.language.render.english import render_english
from refute.language.render.logic import render_logic
from refute.language.render.sql import Dialect, SqlWriter
from refute.language.render.text import render_condition, render_sugar, render_text

__all__ = [
    "Dialect",
    "SqlWriter",
    "render_condition",
    "render_english",
    "render_logic",
    "render_sugar",
    "render_text",
]
