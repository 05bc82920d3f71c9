"""Arithmetic in comparisons: formulas over the columns of one row, each a column that goes by its own text."""

from refute.language.arithmetic.formula import (
    Combined,
    Formula,
    Number,
    Read,
    Sign,
    Span,
    Unit,
    all_sources,
    formula_of,
    leaves,
    named,
    refuse_formulas,
    renamed_column,
    shown_column,
    sources_of,
    spelled,
)

__all__ = [
    "Combined",
    "Formula",
    "Number",
    "Read",
    "Sign",
    "Span",
    "Unit",
    "all_sources",
    "formula_of",
    "leaves",
    "named",
    "refuse_formulas",
    "renamed_column",
    "shown_column",
    "sources_of",
    "spelled",
]
