"""The picture that fits a broken rule: where its clash lies, or what its groups say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from refute.display.markup import drawing
from refute.language.form import Form
from refute.language.operators import Operator
from refute.language.short_forms.sugar import NoOverlap, recognise
from refute.report.forms.as_text import said_in
from refute.report.page.scales import Scale, label

if TYPE_CHECKING:
    from refute.detect.shown.scenes import Scene, ValueTally
    from refute.report.exhibits import Exhibits
    from refute.report.history import PastRun
    from refute.report.result import RuleResult

_WIDE, _HIGH = 480, 250  # of a picture, in its own units
_LEFT, _RIGHT, _TOP, _BOTTOM = 16, 464, 14, 206  # of the places of dots
_GROUPS, _VALUES, _LINE = 5, 5, 19
_SPANS = 12
_SAID = 28  # letters of a value beside its bar
_TOWARDS_MORE = (Operator.LT, Operator.LE)  # `s < t` denies places above that of `s`


def picture_of(result: RuleResult, exhibits: Exhibits) -> Any | None:
    """The picture of a broken rule as SVG; None where none fits, or rows would have to be looked for."""
    if result.finding.holds:
        return None
    tally = exhibits.tally(result.name)
    if tally is not None:
        return bars(tally)
    spans = recognise(result.rule.constraint)
    if isinstance(spans, NoOverlap):
        scene = exhibits.scene(result.name)
        return None if scene is None else timeline(scene, spans)
    form = Form.of(result.rule)
    orders = [one.predicate for one in form.order if not one.predicate.is_cross_column]
    if result.rule.constraint.is_single_row or len(form.order) != 2 or len(orders) != 2:
        return None
    scene = exhibits.scene(result.name)
    if scene is None:
        return None
    return scatter(scene, [(one.left.name, one.op in _TOWARDS_MORE) for one in orders])


def bars(tally: ValueTally) -> Any:
    """A bar for each value in the groups that clash most: how many rows say it."""
    lines: list[dict[str, Any]] = []
    most = max((value.rows for group in tally.groups[:_GROUPS] for value in group.values), default=1)
    for group in tally.groups[:_GROUPS]:
        if tally.left:
            name = ", ".join(f"{name} {label(value)}" for name, value in zip(tally.left, group.key, strict=True))
            lines.append({"head": label(name, 60)})
        rows = [value.rows for value in group.values]
        clear = bool(tally.right) and (len(rows) < 2 or rows[0] > rows[1])  # whether most rows say one thing
        texts = said_in(group, _VALUES, _SAID)
        for place, (value, text) in enumerate(zip(group.values, texts, strict=False)):
            said = ", ".join(text) if text else "same key"
            odd = place > 0 or not clear
            lines.append(
                {"head": "", "text": said, "rows": value.rows, "width": max(180 * value.rows / most, 2), "odd": odd}
            )
        if group.distinct > _VALUES:
            lines.append({"head": f"and {group.distinct - _VALUES:,} more values"})
    for place, one in enumerate(lines):
        one["y"] = _LINE * (place + 1)
    said = ", ".join(tally.right) if tally.right else ", ".join(tally.left)
    title = f"How many rows say which {said}" if tally.right else f"How many rows have the same {said}"
    return drawing("bars.svg", lines=lines, width=_WIDE, height=_LINE * (len(lines) + 1), title=label(title, 120))


def scatter(scene: Scene, axes: list[tuple[str, bool]]) -> Any | None:
    """The rows of a group as dots, and the corner where no row may be beside `s`: `t` is in it."""
    rows = [*scene.pair, *scene.others]
    (x_name, more_right), (y_name, more_up) = axes
    complete = [row for row in rows if row[x_name] is not None and row[y_name] is not None]
    x = Scale.of([row[x_name] for row in complete], _LEFT, _RIGHT)
    y = Scale.of([row[y_name] for row in complete], _BOTTOM, _TOP)
    if x is None or y is None or len(scene.pair) != 2 or complete[:2] != list(scene.pair):
        return None
    s, t = ((x.places[at], y.places[at]) for at in (0, 1))
    corner = {
        "x": s[0] if more_right else 0,
        "y": 0 if more_up else s[1],
        "width": _WIDE - s[0] if more_right else s[0],
        "height": s[1] if more_up else _BOTTOM + _TOP - s[1],
    }
    names = {"x_name": label(x_name, 40), "y_name": label(y_name, 40)}
    ends = {"x_low": x.low, "x_high": x.high, "y_low": y.low, "y_high": y.high}
    dots = sorted({(round(a, 1), round(b, 1)) for a, b in zip(x.places[2:], y.places[2:], strict=True)})
    title = f"{x_name} and {y_name}: a row in the shaded corner clashes with s"
    size = {"width": _WIDE, "height": _HIGH, "bottom": _BOTTOM + _TOP}
    where = _said(scene)
    return drawing(
        "scatter.svg", s=s, t=t, corner=corner, dots=dots, title=label(title, 120), where=where, **names, **ends, **size
    )


def timeline(scene: Scene, spans: NoOverlap) -> Any | None:
    """The spans of a group that lie nearest to the two that overlap, and where these do."""
    rows = [row for row in scene.others if row[spans.start] is not None and row[spans.end] is not None]
    pair = list(scene.pair)
    if len(pair) != 2 or any(row[name] is None for row in pair for name in (spans.start, spans.end)):
        return None
    ends = [row[name] for row in (*pair, *rows) for name in (spans.start, spans.end)]
    scale = Scale.of(ends, _LEFT, _RIGHT)
    if scale is None:
        return None
    places = list(zip(scale.places[::2], scale.places[1::2], strict=True))
    middle = max(places[0][0], places[1][0])
    near = sorted(range(2, len(places)), key=lambda at: abs(places[at][0] - middle))[: _SPANS - 2]
    chosen = sorted([0, 1, *near], key=lambda at: (places[at][0], at))
    texts = [(*pair, *rows)[at] for at in chosen]
    lines = [
        {
            "x": min(places[at]),
            "width": max(abs(places[at][1] - places[at][0]), 2),
            "y": 8 + 24 * line,
            "hit": at < 2,
            "text": f"{'st'[at]}: {label(row[spans.start])} to {label(row[spans.end])}" if at < 2 else "",
        }
        for line, (at, row) in enumerate(zip(chosen, texts, strict=True))
    ]
    overlap = {"x": middle, "width": max(min(places[0][1], places[1][1]) - middle, 2), "height": 24 * len(lines) + 4}
    title = f"Spans from {spans.start} to {spans.end}; s and t overlap"
    return drawing(
        "timeline.svg",
        lines=lines,
        overlap=overlap,
        low=scale.low,
        high=scale.high,
        where=_said(scene),
        title=label(title, 120),
        width=_WIDE,
        height=24 * len(lines) + 40,
    )


def trend(runs: list[PastRun]) -> Any | None:
    """The violations of a rule in the runs of a history; None where fewer than two counted them."""
    counted = [(run.time, run.violations) for run in runs if run.violations is not None]
    if len(counted) < 2:
        return None
    scale = Scale.of([number for _, number in counted], 44, 8)
    assert scale is not None
    step = (_RIGHT - 150) / (len(counted) - 1)
    places = scale.places if len({number for _, number in counted}) > 1 else tuple(30.0 for _ in counted)
    points = [(round(8 + step * at, 1), round(place, 1)) for at, place in enumerate(places)]
    said = f"{counted[-1][1]:,} violations now, {counted[0][1]:,} on {counted[0][0][:10]}"
    return drawing("trend.svg", points=points, last=points[-1], said=said, runs=len(counted), width=_WIDE, height=56)


def _said(scene: Scene) -> str:
    """On what all rows of a picture agree."""
    first = scene.pair[0]
    return label(", ".join(f"{name} {label(first[name])}" for name in scene.group), 60)
