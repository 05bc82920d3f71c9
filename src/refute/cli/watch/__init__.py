"""`refute watch`: the violations of files as they arrive."""

from refute.cli.watch.calling import command

__all__ = ["command"]
