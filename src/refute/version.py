"""The version of Refute, which reports carry."""

__version__ = "0.1.0"
