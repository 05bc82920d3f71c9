"""`refute schema`: the JSON schemas of rule files and of reports."""

from __future__ import annotations

import click

from refute.cli.exits import Exit
from refute.cli.options import OF_SPARK, SharedOptions, shared, without
from refute.cli.terminal import hand_over
from refute.language.rulebook.reading import schema


@click.command("schema")
@click.argument("what", type=click.Choice(["rules", "report"]), default="rules", metavar="[rules|report]")
@shared
def command(options: SharedOptions, what: str) -> Exit:
    """Print the JSON schema of rule files, or of the JSON that `check` writes.

    The first line of a rule file says where editors find it: # yaml-language-server: $schema=rules.schema.json
    """
    if what == "rules":
        hand_over(schema.shipped_schema())
        return Exit.HOLDS
    from refute.report.forms import as_json

    hand_over(as_json.shipped_schema())
    return Exit.HOLDS


without(command, *OF_SPARK, "nulls")
