"""The report as JUnit XML: one test case per rule."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree import ElementTree

from refute.detect.engine import ClashingRow
from refute.display import in_xml
from refute.language.rulebook import Severity
from refute.report.forms.as_text import clash_cells
from refute.report.numbers import counted

if TYPE_CHECKING:
    from refute.report.report import Report
    from refute.report.result import RuleResult

_CELL = 200  # letters of a cell


def render(report: Report) -> str:
    """The XML text. A failed rule is a failure; one of severity `warn` is a passed case that says so."""
    suite = ElementTree.Element(
        "testsuite",
        name=_xml_safe(f"refute {report.data.name}"),
        tests=str(len(report)),
        failures=str(sum(result.failed is Severity.ERROR for result in report)),
        errors="0",
        skipped="0",
        time=f"{sum(result.seconds for result in report):.3f}",
        timestamp=report.data.time.strftime("%Y-%m-%dT%H:%M:%S"),
    )
    for result in report:
        suite.append(_case(report, result))
    root = ElementTree.Element("testsuites")
    root.append(suite)
    ElementTree.indent(root)
    return in_xml(ElementTree.tostring(root, encoding="unicode", xml_declaration=True)) + "\n"


def _case(report: Report, result: RuleResult) -> ElementTree.Element:
    case = ElementTree.Element(
        "testcase", classname=_xml_safe(report.data.name), name=_xml_safe(result.name), time=f"{result.seconds:.3f}"
    )
    if result.finding.holds:
        return case
    message = _xml_safe(f"{counted(result)}{' (proposed rule)' if result.is_proposed else ''}: {result.rule.text}")
    if result.failed is Severity.ERROR:
        ElementTree.SubElement(case, "failure", message=message, type="violation").text = _xml_safe(_witness(result))
    else:
        ElementTree.SubElement(case, "system-out").text = f"{message}\n{_xml_safe(_witness(result))}"
    return case


def _witness(result: RuleResult) -> str:
    if result.values is None:
        return result.sentence
    clash = tuple(ClashingRow(role, None, row) for role, row in result.values.items() if row is not None)
    names = list(clash[0].values)
    rows = [
        f"{row.role}: {', '.join(f'{name} = {cell.text}' for name, cell in zip(names, cells[1:], strict=True))}"
        for row, cells in zip(clash, clash_cells(clash, names, _CELL), strict=True)
    ]
    return "\n".join([result.sentence, *rows])


def _xml_safe(text: str) -> str:
    """The text without the control characters that XML cannot carry."""
    return "".join(
        c if c in "\t\n\r" or (c >= " " and not "\ud800" <= c <= "\udfff" and c not in "\ufffe\uffff") else "\ufffd"
        for c in text
    )
