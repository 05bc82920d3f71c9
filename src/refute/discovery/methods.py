"""Which method searches a table, and its outcome."""

from __future__ import annotations

from refute.discovery.evidence.counted import Evidence
from refute.discovery.evidence.everything import Everything
from refute.discovery.first_rules import FirstRules
from refute.discovery.local import LocalPairs
from refute.discovery.options import Options, SearchMethod
from refute.discovery.pairs import Pairs
from refute.discovery.result.outcome import EVERY_PAIR, Outcome, Search
from refute.discovery.tuning import STANDARD, Tuning
from refute.discovery.work import Budget


def searched(pairs: Pairs, options: Options, budget: Budget, tuning: Tuning = STANDARD) -> Outcome:
    """The rules of these pairs, by the method that the options name or that is quickest; Ctrl-C ends the search.

    To those of a search that was stopped before it verified many, short ones are added that are quickly found.
    """
    first = FirstRules(pairs, options, tuning) if isinstance(pairs, LocalPairs) else None
    if first is None or not first.are_quick:
        return _by_method(pairs, options, budget, tuning)
    with budget.within(first.share):
        found = _by_method(pairs, options, budget, tuning)
    try:
        return first.beside(found, budget.late)
    except KeyboardInterrupt:
        budget.interrupt()
        return found


def _by_method(pairs: Pairs, options: Options, budget: Budget, tuning: Tuning) -> Outcome:
    n_rows, space = pairs.n_rows, pairs.space
    if n_rows < 2:
        note = "Discovery needs at least two rows."
        nothing = space.full[None][:0]
        return Outcome(nothing, Evidence.empty(space), True, True, "tiles", settled=EVERY_PAIR, notes=(note,))
    few = options.method is SearchMethod.AUTO and n_rows <= tuning.few_rows
    if options.error or options.almost or options.method is SearchMethod.TILES or few:
        return _stoppable(Everything(pairs, options, tuning), budget)
    if options.method is SearchMethod.HYDRA:
        from refute.discovery.hydra.hydra import Hydra

        return _stoppable(Hydra(*pairs.here(), options, tuning), budget)
    from refute.discovery.guided.guided import Guided

    tiles_take = n_rows * (n_rows - 1) // 2 * pairs.costs.pair
    give_up = tiles_take if options.method is SearchMethod.AUTO and tiles_take < tuning.patience else None
    guided = Guided(pairs, options, tuning, give_up=give_up)
    outcome = _stoppable(guided, budget)
    return _stoppable(Everything(pairs, options, tuning), budget) if guided.gave_up else outcome


def _stoppable(search: Search, budget: Budget) -> Outcome:
    try:
        return search.run(budget)
    except KeyboardInterrupt:
        budget.interrupt()
        return search.so_far()
