"""What people see: text that cannot act on a terminal, differences that are marked, and pieces of HTML."""

from refute.display.harmless import in_html, in_json, in_one_line, in_xml, visible

__all__ = ["in_html", "in_json", "in_one_line", "in_xml", "visible"]
