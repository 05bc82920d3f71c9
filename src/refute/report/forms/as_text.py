"""The report as text: rules that failed first, with the rows that clash, then a line that sums up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from refute.display import in_one_line
from refute.display.contrast import Marked, columns_of, marked_among, marked_pair, padded, shortened
from refute.display.plurals import plural
from refute.display.spelling import revealed
from refute.display.tones import Line, Span, Tone, line, without_tones
from refute.relation.shown import id_text
from refute.report.forms.suspects_as_text import NOT_LOOKED_FOR
from refute.report.forms.suspects_as_text import render as rendered_suspects
from refute.report.numbers import counted, some_of
from refute.report.result import RuleResult, Standing

if TYPE_CHECKING:
    from refute.detect.shown.scenes import TalliedGroup, ValueTally
    from refute.report.exhibits import Clash, Exhibits
    from refute.report.report import Report
    from refute.report.suspects import Suspects

CELL_WIDTH = 32
FIRST_SUSPECTS = 5
_GROUPS, _VALUES, _NAMED = 3, 4, 3
_EMPTY = "(empty)"
_FETCHED = "gather"  # the method of rules whose rows Spark sent to this process
_TONES = {Standing.ERROR: Tone.BAD, Standing.OK: Tone.GOOD}
_ENGINES = {"local": "in this process", "spark": "on Spark"}


def render(report: Report) -> str:
    """The text, without colours."""
    return without_tones(lines(report))


def lines(report: Report, shown: int | None = None, suspects: Suspects | None = None) -> Iterator[Line]:
    """The lines, whose parts have tones; with `shown`, so many clashes or groups of each broken rule.

    Suspects that somebody has found already are shown without a look whether finding them costs little.
    """
    rows, rules = plural(report.data.rows, "row"), plural(len(report), "rule")
    yield line(f"{in_one_line(report.data.name)}: {rows}, {rules}, checked {_ENGINES[report.data.engine]}")
    suspects = report.first_suspects if suspects is None else suspects
    if suspects is not None and suspects.count:
        yield from map(line, rendered_suspects(suspects, FIRST_SUSPECTS).split("\n"))
    elif suspects is None and report.has_suspects:
        yield line(NOT_LOOKED_FOR)
    exhibits = report.exhibits(shown)
    width = max((len(result.state.value) for result in report), default=0) + 1
    for result in report.failing_first:
        yield line((result.state.value.ljust(width), _tone(result.state)), f"{_title(result)}: {counted(result)}")
        for one in _details(result, exhibits, shown):
            yield [(" " * width, None), *one]
    fetched = [_name(result) for result in report if result.finding.method == _FETCHED]
    if fetched:
        yield line(f"Answered in this process, from rows fetched from Spark: {', '.join(fetched)}")
    yield summary(report)
    proposed = sum(result.is_proposed for result in report)
    if proposed:
        be, them = ("is", "it") if proposed == 1 else ("are", "them")
        said = f"{plural(proposed, 'rule')} {be} only proposed, and can only warn. "
        yield line((f"{said}Delete `status: proposed` to accept {them}.", Tone.FAINT))


def summary(report: Report) -> Line:
    """How many rules fared how, and the exit code that says so."""
    counts = report.counts
    failed, warned = counts[Standing.ERROR], counts[Standing.WARN]
    passed = len(report) - failed - warned
    parts = [f"{plural(failed, 'rule')} failed" if failed else "", f"{warned:,} warned" if warned else ""]
    said = ", ".join(part for part in parts if part)
    besides = [f"{counts[state]:,} {state.value}" for state in (Standing.KNOWN, Standing.TOLERATED) if counts[state]]
    rest = f"{plural(passed, 'rule') if not said else f'{passed:,}'} passed"
    rest += f" ({', '.join(besides)})" if besides else ""
    tone = Tone.BAD if failed else Tone.DOUBTFUL if warned else Tone.GOOD
    head: list[Span] = [(said, tone), (", ", None), (rest, None)] if said else [(rest, tone)]
    return [*head, (f"; exit code {report.exit_code}", None)]


def _details(result: RuleResult, exhibits: Exhibits, shown: int | None) -> Iterator[Line]:
    """What stands below the name of a rule."""
    finding, compared = result.finding, result.compared
    if finding.skipped_nulls:
        yield line(f"{plural(finding.skipped_nulls, 'row')} skipped because of nulls")
    if compared is not None and compared.changed:
        yield line("The rule differs from the one in the baseline, so all its violations are new.")
    if compared is not None and compared.healed:
        yield line((f"healed since the baseline: {some_of(compared.healed, _NAMED, _cell)}", Tone.GOOD))
    if compared is not None and compared.new and not compared.changed:
        yield line((f"new since the baseline: {some_of(compared.new, _NAMED, _cell)}", _tone(result.state)))
    if finding.holds:
        return
    yield line(in_one_line(" ".join(result.sentence.split())))
    tally = exhibits.tally(result.name)
    alone = tally is not None or shown is None
    clashes = [exhibits.witness(result.name)] if alone else exhibits.clashes(result.name)
    yield from clash_table(clashes, result.columns)
    if tally is not None:
        yield from _groups(tally, shown or _GROUPS)
    elif shown is not None and finding.violations is not None and len(clashes) < finding.violations:
        what = "row" if result.rule.constraint.is_single_row else "pair"
        total = finding.violations // 2 if result.rule.constraint.is_symmetric else finding.violations
        if len(clashes) < total:
            yield line(f"{len(clashes):,} of {plural(total, what)}")


def clash_table(clashes: Sequence[Clash], columns: Sequence[str]) -> Iterator[Line]:
    """Clashing rows as an aligned table of the columns that the rule reads, with marks below what differs."""
    table: list[list[Marked]] = [[Marked(""), *(Marked(_cell(name)) for name in columns)]]
    marks: set[int] = set()
    for clash in clashes:
        for cells in clash_cells(clash, columns):
            table.append(cells)
        if len(clash) > 1:
            marks.add(len(table) - 1)
    widths = [max(columns_of(row[at].text) for row in table) for at in range(len(table[0]))]
    for place, row in enumerate(table):
        spans: Line = []
        for cell, width in zip(row, widths, strict=True):
            before, differing, after = cell.parts
            spans += [
                (before, None),
                (differing, Tone.MARKED),
                (padded(after, width - columns_of(before + differing)), None),
            ]
            spans.append(("  ", None))
        yield spans
        if place in marks:
            under = "  ".join(padded(_carets(cell), width) for cell, width in zip(row, widths, strict=True))
            if under.strip():
                yield line((under.rstrip(), Tone.MARKED))


def clash_cells(clash: Clash, columns: Sequence[str], width: int = CELL_WIDTH) -> list[list[Marked]]:
    """The cells of the rows of a clash, the role and id of each first, with what differs between the rows marked."""
    rows = [[Marked(f"{row.role} = {_cell(row.row_id)}")] for row in clash]
    for name in columns:
        texts = [id_text(row.values.get(name)) for row in clash]
        if len(texts) == 2:
            cells = marked_pair(texts[0], texts[1], width)
        else:
            cells = tuple(Marked(shortened(revealed(text), width)) for text in texts)  # type: ignore[assignment]
        for row, cell in zip(rows, cells, strict=True):
            row.append(cell)
    return rows


def _groups(tally: ValueTally, most: int) -> Iterator[Line]:
    """The values in groups: `35233: birmingham 24 rows, birminghxm 1 row`."""
    for group in tally.groups[:most]:
        yield _group(group)
    if tally.n_groups is None:
        yield line(("and more groups", Tone.FAINT))
    elif tally.n_groups > most:
        yield line((f"and {plural(tally.n_groups - min(most, len(tally.groups)), 'more group')}", Tone.FAINT))


def _group(group: TalliedGroup) -> Line:
    head = f"{_joined(group.key)}: " if group.key else ""
    if not group.values[0].values:
        return line(f"{head}{plural(group.rows, 'row')}, the first is {_cell(group.values[0].first)}")
    spans: Line = [(head, None)]
    for place, (value, text) in enumerate(zip(group.values, said_in(group, _VALUES, CELL_WIDTH), strict=False)):
        tone = Tone.MARKED if place else None
        spans.append((f"{', ' if place else ''}{'/'.join(text)} ", tone))
        spans.append((plural(value.rows, "row"), None))
    if group.distinct > _VALUES:
        spans.append((f" and {plural(group.distinct - _VALUES, 'more value')}", Tone.FAINT))
    return spans


def said_in(group: TalliedGroup, most: int, width: int) -> list[list[str]]:
    """What the values of a group say, column by column, shortened and spelled such that they differ."""
    first, *others = group.values[:most]
    columns = []
    for place, value in enumerate(first.values):
        mine, rest = marked_among(id_text(value), [id_text(other.values[place]) for other in others], width)
        columns.append([one.text or _EMPTY for one in (mine, *rest)])
    return [list(texts) for texts in zip(*columns, strict=True)] if columns else [[] for _ in group.values[:most]]


def _carets(cell: Marked) -> str:
    """Signs below the difference; one where a text lacks what the other has there."""
    before, differing, _ = cell.parts
    return " " * columns_of(before) + "^" * max(columns_of(differing), int(cell.differs))


def _joined(values: Sequence[Any]) -> str:
    return "/".join(shortened(revealed(id_text(value)), CELL_WIDTH) or _EMPTY for value in values)


def _name(result: RuleResult) -> str:
    return in_one_line(result.name)


def _title(result: RuleResult) -> str:
    return f"{_name(result)} (proposed)" if result.is_proposed else _name(result)


def _tone(state: Standing) -> Tone:
    return _TONES.get(state, Tone.DOUBTFUL)


def text_of(value: Any) -> str:
    """A value as one line of text."""
    return in_one_line(id_text(value))


def _cell(value: Any) -> str:
    return shortened(text_of(value), CELL_WIDTH)
