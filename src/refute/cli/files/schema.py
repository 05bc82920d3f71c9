"""`refute schema`: the JSON schemas of rule files and of reports."""

from __future__ import annotations

import click

from refute.cli.exits import Exit
from refute.cli.options import SharedOptions, shared
from refute.cli.terminal import hand_over
from refute.language import schema as of_rules
from refute.report import as_json as of_reports

_SCHEMAS = {"rules": of_rules.shipped_schema, "report": of_reports.shipped_schema}


@click.command("schema")
@click.argument("what", type=click.Choice(list(_SCHEMAS)), default="rules", metavar="[rules|report]")
@shared
def command(options: SharedOptions, what: str) -> Exit:
    """Print the JSON schema of rule files, or of the JSON that `check` writes.

    The first line of a rule file says where editors find it: # yaml-language-server: $schema=rules.schema.json
    """
    hand_over(_SCHEMAS[what]())
    return Exit.HOLDS
