"""A box becomes the problem of its rule, straight from codes: it has a witness iff some pair of rows lies in it."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from discovery.test_space import OPERATORS, space_of
from discovery.test_tiles import NULLS, small_tables
from refute.detect import sweep
from refute.discovery.evidence.sampling import pair_evidence
from refute.discovery.guided.boxed import Boxed
from refute.discovery.guided.hunting import Witnesses
from refute.discovery.local import LocalPairs
from refute.discovery.options import Options
from refute.discovery.work import Budget
from refute.language.nulls import Nulls
from refute.language.operators import Operator
from refute.language.rulebook import Rule
from refute.plan.compile import compile_rule
from refute.relation import Relation
from thorough import examples


@given(small_tables(max_rows=6), NULLS, OPERATORS, st.booleans(), st.data())
@examples(100)
def test_a_witness_is_found_iff_some_pair_lies_in_the_box(
    table: pa.Table, nulls: Nulls, operators: tuple[Operator, ...], wider: bool, data: st.DataObject
) -> None:
    constants = 1 if table.num_rows > 2 else 0
    options = Options(
        nulls=nulls,
        operators=operators,
        shared_values=0.0,
        average_ratio=0.0,
        one_row=True,
        constants=constants,
        threads=1,
    )
    relation, space = Relation.of(table), space_of(table, options)
    space = space.widened(table.column_names) if wider else space
    if not space.slots:
        return
    pairs = LocalPairs(relation, space, options)
    points = pairs.everything(Budget(options))[0].points
    witnesses, boxed = Witnesses(relation, space), Boxed(relation, space)
    for _ in range(8):
        masks = np.array([slot.kind.full for slot in space.slots], np.uint8)
        some = data.draw(st.lists(st.integers(0, len(space.slots) - 1), min_size=1, max_size=3, unique=True))
        for k in some:
            masks[k] = data.draw(st.sampled_from(sorted(space.slots[k].kind.conjunctions)))
        box = space.boxes(masks[None])
        found = witnesses.find(masks)
        rule = space.constraint(masks.tolist())
        assert (found is not None) == (~(points & ~box).any(axis=1)).any(), rule
        if found is not None:
            both = pair_evidence(pairs.book, *np.array(found)[:, None]).points
            assert (~(both & ~box).any(axis=1)).any(), rule
        compiled = compile_rule(relation, Rule(name="rule", constraint=rule, nulls=nulls))
        single = boxed.single(masks.tolist())
        if compiled.rows is not None:
            assert single is not None
            assert single[1].tolist() == compiled.rows.tolist()
        elif compiled.problem is not None:
            problem = boxed.problem(masks.tolist())
            assert single is None
            assert problem.self_pairs or not compiled.problem.self_pairs  # it may be too careful
            assert sweep.count(problem) == sweep.count(compiled.problem), rule
