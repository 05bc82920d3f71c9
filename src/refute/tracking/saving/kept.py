"""A tracker as a folder keeps it: its rows, what is known of them, and how both came about."""

from __future__ import annotations

from dataclasses import dataclass, replace

from refute.discovery.options import Options, options_of
from refute.discovery.result.kinds import RuleSort
from refute.discovery.space.saved import space_as_json, space_of_json
from refute.discovery.space.slots import PredicateSpace, Words
from refute.durable.directory import Sort
from refute.durable.log import Commit
from refute.durable.shelf import Entry, Shelf
from refute.live.saved import StateMoment, state_of
from refute.live.state import State
from refute.relation import Relation
from refute.relation.keys.encoding import Encoding
from refute.relation.keys.state import EncodingState
from refute.tracking.ages import RuleAges
from refute.tracking.meeting.cover import Chosen
from refute.tracking.rows import TrackedRows
from refute.tracking.saving.knowledge import (
    Knowledge,
    SavedTracking,
    applied,
    difference,
    read_knowledge,
    write_knowledge,
)
from refute.tracking.tracking import Tracking
from refute.tracking.ways import Ways

_ENCODED = "codes"  # how files of encodings are named: those of keys are values
_OWN_RUN = ("threads", "time_limit", "progress")  # options that say nothing of the rules


@dataclass(frozen=True, slots=True)
class Asked:
    """What a tracker was asked for: options of discovery, kinds of rules, and what was said at the start."""

    options: Options
    kinds: frozenset[RuleSort] | None
    notes: tuple[str, ...]

    def as_json(self) -> Entry:
        """The same as what JSON can hold."""
        told: Entry = {}
        for name in Options.__slots__:
            value = getattr(self.options, name)
            if name not in _OWN_RUN:
                told[name] = [one.value for one in value] if name == "operators" else getattr(value, "value", value)
        kinds = None if self.kinds is None else sorted(kind.value for kind in self.kinds)
        return {"options": told, "kinds": kinds, "notes": list(self.notes)}

    @classmethod
    def of_json(cls, saved: Entry) -> Asked:
        """What was saved."""
        kinds = None if saved["kinds"] is None else frozenset(map(RuleSort, saved["kinds"]))
        return cls(options_of(**saved["options"]), kinds, tuple(saved["notes"]))


@dataclass(frozen=True, slots=True)
class TrackerMoment:
    """All that makes up a tracker, as it is now: nothing of it changes when the tracker does."""

    state: StateMoment
    asked: Asked
    space: PredicateSpace
    sets: tuple[Chosen, ...]
    planned: int
    moved: int
    work: float
    refits: int
    encodings: dict[tuple[str, ...], tuple[Encoding, EncodingState]]
    knowledge: Knowledge
    facts: Entry

    def write(self, shelf: Shelf) -> Entry:
        """Puts all parts on a shelf; what a manifest says of them."""
        return {
            **self.state.write(shelf),
            "asked": self.asked.as_json(),
            "space": space_as_json(self.space),
            "sets": [sorted(chosen) for chosen in self.sets],
            "planned": self.planned,
            "moved": self.moved,
            "work": self.work,
            "refits": self.refits,
            "encodings": [shelf.encoding(_ENCODED, names, *one) for names, one in self.encodings.items()],
            "known": write_knowledge(shelf, self.knowledge),
        }


class KeptTracker:
    """What a folder keeps of a tracker. A tracking is made of it, and held by it from then on.

    A commit is the rows that came and went, and how points, boxes and rules differ from those of the last one: opening
    searches nothing. Where the space, the counted sets or the numbering of values is another, all of it is written.
    """

    def __init__(self, state: State, asked: Asked, space: PredicateSpace, refits: int = 0) -> None:
        self.state = state
        self.asked = asked
        self.space = space
        self.refits = refits
        self._tracking: Tracking | None = None
        self._ages: RuleAges | None = None
        self._saved: SavedTracking | None = None  # what was read, until a tracking is made of it
        self._coding: TrackedRows | None = None  # without rows: for values to be known in the order in which they came
        self._last: Knowledge | None = None  # of the last commit
        self._next: Knowledge | None = None  # of the one at hand
        self._basis: tuple[object, ...] = ()  # what differences to the last commit are about

    @classmethod
    def restored(cls, body: Entry, shelf: Shelf, verify: bool) -> KeptTracker:
        """What a manifest names; raises DataError that names a file which is not as it was written."""
        state = state_of(body, shelf, verify)
        found = cls(state, Asked.of_json(body["asked"]), space_of_json(body["space"]), body["refits"])
        types = {field.name: field.type for field in state.known_schema()}
        told = [shelf.read_encoding(_ENCODED, entry, types.__getitem__, verify=verify) for entry in body["encodings"]]
        sets = tuple(frozenset(chosen) for chosen in body["sets"])
        known = read_knowledge(shelf.folder, body["known"], verify=verify)
        found._saved = SavedTracking(known, sets, body["planned"], body["moved"], body["work"], dict(told))
        found._coding = TrackedRows(found.space, found.asked.options.nulls, types, encodings=dict(told))
        return found

    def hold(self, tracking: Tracking, ages: RuleAges) -> None:
        """Takes in what the tracker has at the moment."""
        self._tracking, self._ages, self.space = tracking, ages, tracking.space

    def refitted(self, notes: tuple[str, ...]) -> None:
        """Hears that predicates were chosen again."""
        self.refits += 1
        self.asked = replace(self.asked, notes=notes)

    def resumed(self, options: Options, ways: Ways | None) -> Tracking:
        """The tracking of what was read, and of all commits that were replayed; nothing is searched."""
        assert self._saved is not None
        slots, table = self.state.living()
        tracking = Tracking(Relation.of(table), slots, options, space=self.space, ways=ways, saved=self._saved)
        self._basis = _basis(tracking)
        return tracking

    def ages(self, boxes: Words) -> RuleAges:
        """Since when the rules of these boxes hold, as far as that was read."""
        assert self._saved is not None
        known = self._saved.knowledge
        return RuleAges.known(self.state.version, boxes, known.dated, known.since)

    @property
    def version(self) -> int:
        """How many changes there were: of rows, and of predicates."""
        return self.state.version + self.refits

    @property
    def facts(self) -> Entry:
        """How many rows and batches there are."""
        return {"n_rows": self.state.n_rows, "batches": self.state.version}

    def beside(self) -> bytes | None:
        """How points, boxes and rules differ from those of the last commit; None where that cannot be said."""
        assert self._tracking is not None
        assert self._ages is not None
        if self._last is None or _basis(self._tracking) != self._basis:
            return None
        self._next = Knowledge.of(self._tracking, self._ages)
        return difference(self._last, self._next)

    def moment(self) -> TrackerMoment:
        """All of it, as it is now."""
        tracking, ages = self._tracking, self._ages
        assert tracking is not None
        assert ages is not None
        self._next = Knowledge.of(tracking, ages)
        return TrackerMoment(
            StateMoment.of(self.state, packed=True),
            self.asked,
            tracking.space,
            tuple(one.chosen for one in tracking.cover.sets),
            tracking.planned,
            tracking.moved,
            tracking.work,
            self.refits,
            {names: (one, one.state()) for names, one in tracking.rows.encodings.items()},
            self._next,
            self.facts,
        )

    def replay(self, commit: Commit) -> None:
        """Carries out what a commit did."""
        assert self._saved is not None
        assert self._coding is not None
        for change in commit.changes:
            self.state.replay(change.gone, change.table)
            if len(change.table):
                self._coding.coded(Relation.of(change.table))
        known = applied(self._saved.knowledge, commit.beside)
        moved = self._saved.moved + sum(len(change.gone) + len(change.table) for change in commit.changes)
        self._saved = replace(self._saved, knowledge=known, moved=moved)

    def committed(self) -> None:
        """Hears that it is on the disk as it is now."""
        if self._tracking is None:
            assert self._saved is not None
            self._last = self._saved.knowledge
            return
        self._last, self._next = self._next, None
        self._basis = _basis(self._tracking)


def _basis(tracking: Tracking) -> tuple[object, ...]:
    """What must stay the same for a difference of points, boxes and rules to say all."""
    encodings = tracking.rows.encodings
    sets = tuple(one.chosen for one in tracking.cover.sets)
    return tracking.space, sets, tracking.planned, tracking.work, *encodings.values()


TRACKER: Sort[KeptTracker] = Sort(
    "tracker", ("rows", "alive", "values", "run", "codes", "points"), KeptTracker.restored
)
