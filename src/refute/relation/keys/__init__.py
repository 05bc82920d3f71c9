"""Integers for values that stay the same while rows come and go, and rows by their keys."""
