"""The report as an HTML page and as a part of a notebook: cards of rules, with pictures made here."""
