"""Rows that come to this process: what is fetched, kept and asked here."""
