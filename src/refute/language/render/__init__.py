"""Rules in words and symbols: our text, logic notation, SQL and English."""

from refute.language.render.text import render_condition, render_rule, render_text

__all__ = ["render_condition", "render_rule", "render_text"]
