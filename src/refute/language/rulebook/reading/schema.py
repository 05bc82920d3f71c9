"""The JSON schema of a rule file, generated from the same fields that the loader reads."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path

from refute.language.rulebook.reading.fields import (
    BOOK_FIELDS,
    DATASET_FIELDS,
    KIND_FIELDS,
    RULE_FIELDS,
    TOLERANCE_FIELDS,
    Field,
)

SHIPPED = "rules.schema.json"


def rules_schema() -> dict[str, object]:
    """The schema (JSON Schema 2020-12) of the YAML that `load_rules` reads."""
    tolerance = _object(TOLERANCE_FIELDS, minProperties=1)
    one_kind = [{"required": [field.key]} for field in KIND_FIELDS]
    rule = _object(RULE_FIELDS, replaced={"tolerance": tolerance}, required=["name"], oneOf=one_kind)
    rules = {"type": "array", "minItems": 1, "items": rule}
    replaced: dict[str, Mapping[str, object]] = {"dataset": _object(DATASET_FIELDS), "rules": rules}
    book = _object(BOOK_FIELDS, replaced=replaced, required=["rules"])
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Refute rules", **book}


def schema_text() -> str:
    """The schema as the text that is shipped beside this module."""
    return json.dumps(rules_schema(), indent=2, ensure_ascii=False) + "\n"


def schema_address() -> str:
    """The address of the shipped schema file on this machine, for editors."""
    return Path(str(files("refute.language.rulebook.reading").joinpath(SHIPPED))).absolute().as_uri()


def shipped_schema() -> str:
    """The text of the shipped schema file, for editors and validators."""
    return files("refute.language.rulebook.reading").joinpath(SHIPPED).read_text(encoding="utf-8")


def _object(
    fields: tuple[Field, ...],
    *,
    replaced: Mapping[str, Mapping[str, object]] | None = None,
    **more: object,
) -> dict[str, object]:
    """The schema of a mapping with these keys and no others."""
    properties = {
        field.key: {"description": field.doc, **(replaced or {}).get(field.key, field.schema)} for field in fields
    }
    return {"type": "object", "additionalProperties": False, "properties": properties, **more}
