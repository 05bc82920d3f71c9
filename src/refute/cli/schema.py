"""`refute schema`: the JSON schema of rule files."""

from __future__ import annotations

import click

from refute.cli.exits import Exit
from refute.cli.options import SharedOptions, shared
from refute.cli.terminal import hand_over
from refute.language.schema import shipped_schema

_SCHEMAS = {"rules": shipped_schema}


@click.command("schema")
@click.argument("what", type=click.Choice(list(_SCHEMAS)), default="rules", metavar="[WHAT]")
@shared
def command(options: SharedOptions, what: str) -> Exit:
    """Print the JSON schema of rule files, for editors and validators.

    The first line of a rule file tells editors where it is: # yaml-language-server: $schema=rules.schema.json
    """
    hand_over(_SCHEMAS[what]())
    return Exit.HOLDS
