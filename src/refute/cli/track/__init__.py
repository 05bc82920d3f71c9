"""`refute track`: the rules of a table, kept in a folder from one version of the table to the next."""

from refute.cli.track.calling import command

__all__ = ["command"]
