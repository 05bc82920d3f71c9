"""The sample that ships with Refute: a made-up table of tax payers, and rules about it."""

from __future__ import annotations

from pathlib import Path

TABLE = Path(__file__).with_name("tax.csv")
RULES = Path(__file__).with_name("rules.yaml")
