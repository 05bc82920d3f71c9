"""What a search says that was stopped before it verified many rules."""

from __future__ import annotations

import _thread
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from oracle import violations
from refute.discovery.evidence.counted import Evidence
from refute.discovery.first_rules import FirstRules
from refute.discovery.guided.guided import Guided
from refute.discovery.local import LocalPairs
from refute.discovery.methods import searched
from refute.discovery.options import Options, Progress, SearchMethod
from refute.discovery.result.outcome import Outcome
from refute.discovery.search import discover
from refute.discovery.space.predicates import space_for
from refute.discovery.space.turned import asked_boxes, asked_of
from refute.discovery.table import LocalTable
from refute.discovery.tuning import Tuning
from refute.discovery.work import Budget, TimeIsUpError
from refute.relation import Relation


def numbers(rows: int, columns: int, values: int) -> pa.Table:
    random = np.random.default_rng(3)
    made = {f"c{k}": random.integers(0, values + k, rows) for k in range(columns)}
    return pa.table(made | {"n": pa.array([None, *range(rows - 1)], pa.int64())})


def pairs_of(table: pa.Table, options: Options) -> LocalPairs:
    relation = Relation.of(table)
    space, _ = space_for(LocalTable(relation), options)
    return LocalPairs(relation, space, options)


def stopped(pairs: LocalPairs) -> Outcome:
    return Outcome(pairs.space.full[None][:0], Evidence.empty(pairs.space), False, False, "tiles", notes=("nothing",))


@pytest.mark.parametrize("almost", [0, 3])  # which asks for slots that no rule may read
@pytest.mark.parametrize("most", [1, 2, 3])
def test_they_are_all_short_rules_of_equal_columns(most: int, almost: int) -> None:
    table = numbers(60, 4, 6)
    pairs = pairs_of(table, Options(max_predicates=most, almost=almost, shared_values=0.0))
    found = FirstRules(pairs, Options(max_predicates=most)).beside(stopped(pairs))
    expected = discover(table, cross_columns=False, max_predicates=most, operators=["=", "!="])
    space = asked_of(pairs.space)
    ours = [str(space.constraint(masks)) for masks in space.masks(asked_boxes(pairs.space, found.boxes)).tolist()]
    assert sorted(ours) == sorted(rule.text for rule in expected.rules)
    assert not found.complete
    assert found.notes[0].endswith(f"all of at most {most} predicates of = and != between two rows.")


def test_a_search_that_found_rules_keeps_them() -> None:
    pairs = pairs_of(numbers(30, 3, 5), Options())
    nothing = stopped(pairs)
    complete = Outcome(nothing.boxes, nothing.evidence, True, True, "tiles")
    assert FirstRules(pairs, Options()).beside(complete) is complete


@pytest.mark.parametrize("method", ["tiles", "guided"])
def test_a_limit_that_is_over_leaves_time_for_short_rules_whenever_the_search_was_stopped(method: str) -> None:
    table, said = numbers(80, 10, 40), {}
    for limit in (0.01, 0.03):
        found = discover(table, time_limit=limit, method=method, shared_values=0.0)
        said[limit] = {rule.text for rule in found.rules}
        assert found.partial
    keys = {rule.text for rule in discover(table, max_predicates=2, cross_columns=False, operators=["=", "!="]).rules}
    for texts in said.values():
        assert keys <= texts


def test_what_was_verified_stays_beside_short_rules() -> None:
    pairs = pairs_of(numbers(60, 4, 6), Options(shared_values=0.0))
    whole = searched(pairs, Options(method=SearchMethod.TILES), Budget(Options())).boxes
    space = asked_of(pairs.space)
    verified = np.ascontiguousarray(whole[:: len(whole) // 20])
    found = FirstRules(pairs, Options()).beside(replace(stopped(pairs), boxes=verified))
    assert len(found.boxes) > len(verified)
    assert (found.boxes[: len(verified)] == verified).all()
    assert found.notes == ("nothing", *found.notes[1:])
    assert "few rules. A short one found others: all of at most 4 predicates" in found.notes[1]
    for box in found.boxes[len(verified) :]:
        assert not any((box & ~other == 0).all() for other in verified), "what follows from a rule is not said"
        assert any((box & ~other == 0).all() for other in whole), space.constraint(space.masks(box[None])[0].tolist())


def test_notes_of_many_short_rules_do_not_contradict_each_other() -> None:
    table, few = numbers(60, 8, 5), Tuning(kept=30)
    found = discover(table, time_limit=0.0005, method="tiles", tuning=few, shared_values=0.0)
    assert len(found.rules) == 30
    first, second = found.notes[-2:]
    assert first.startswith(
        "The search was stopped before it verified any rule. A short one found these: the 30 shortest"
    )
    assert second == "The search was stopped: rules not yet verified on all rows are missing."
    assert not any("verified in time" in note or "all of" in note for note in found.notes)


def test_they_are_left_out_where_all_pairs_take_long() -> None:
    pairs = pairs_of(numbers(300, 3, 5), Options())
    assert FirstRules(pairs, Options()).are_quick
    assert not FirstRules(pairs, Options(time_limit=1e-6)).are_quick
    assert not FirstRules(pairs, Options(error=0.1)).are_quick


def test_a_guided_search_without_evidence_is_not_complete() -> None:
    pairs = pairs_of(numbers(50, 4, 9), Options())

    class Over(Budget):
        @property
        def expired(self) -> bool:
            return True

    assert not Guided(pairs, Options()).run(Over(Options())).complete


@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_before_all_pairs_were_seen_gives_rules_that_hold() -> None:
    def interrupt(progress: Progress) -> None:
        if progress.phase == "pairs":
            _thread.interrupt_main()

    table = numbers(80, 8, 40)
    found = discover(table, progress=interrupt, shared_values=0.0)
    assert found.partial
    assert len(found) > 0
    for rule in found.top(40):
        assert not violations(table, rule.constraint)
    assert any("stopped before it verified any rule" in note for note in found.notes)


def test_evidence_that_is_put_together_too_late_is_no_evidence() -> None:
    pairs = pairs_of(numbers(50, 4, 9), Options())

    class Late(Budget):
        def raise_if_expired(self) -> None:
            raise TimeIsUpError

    evidence, complete = pairs.everything(Late(Options()))
    assert (len(evidence), complete) == (0, False)
    slot = next(k for k, one in enumerate(pairs.space.slots) if one.is_pair)
    evidence, complete = pairs.agreeing(frozenset([slot]), Late(Options()))
    assert (len(evidence), complete) == (0, False)
