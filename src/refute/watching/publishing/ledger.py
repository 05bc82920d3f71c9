"""The table of violations: those that are open and those that were, in folders of files that never change.

Each state of the table is a folder. Files that two states share are one file with two names, so a state costs what has
changed. A reader who opens one of these folders sees one moment, whatever happens meanwhile.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import time
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from refute.durable.log import sync_folder
from refute.errors import DataError
from refute.live.store import SlotMoves
from refute.watching.publishing.table_parts import (
    Find,
    GoingRows,
    Listed,
    Longs,
    MarkSet,
    Mask,
    PairMarks,
    Piece,
    checked_rows,
    picked,
    with_until,
)

OPEN, CLOSED = "open", "closed"


@dataclass(frozen=True, slots=True)
class LedgerTuning:
    """Sizes of the table and its files."""

    piece: int = 1 << 16  # lines of a file of open violations: what one that is resolved has to rewrite
    wider: int = 4  # times as many lines has a file once a batch has to rewrite most of them
    closed_piece: int = 1 << 18
    most_closed: int = 1 << 22  # resolved violations that are kept, the newest
    states: int = 8  # older states of the table that are kept for readers
    seconds: float = 600.0  # for which states are kept beside, as long as they are not too many
    most_states: int = 64


@dataclass(frozen=True, slots=True)
class Turn:
    """What a batch does to the table: lines that come, with their marks, violations that go, rows that go or move."""

    batch: int
    added: Sequence[tuple[pa.Table, PairMarks]]
    resolved: PairMarks
    gone: Longs
    moved: tuple[Longs, Longs]
    dropped: Sequence[str] = ()  # rules of which nothing is kept any more

    @classmethod
    def of_rules(cls, batch: int, added: Sequence[tuple[pa.Table, PairMarks]], dropped: Sequence[str] = ()) -> Turn:
        """What other rules do to it: no row comes or goes."""
        nothing = np.empty(0, np.int64)
        return cls(batch, added, PairMarks.joined([]), nothing, (nothing, nothing), dropped)


class Ledger:
    """The table of violations in a folder of its states."""

    def __init__(self, folder: Path, link: Path, rules: Sequence[str], tuning: LedgerTuning | None = None) -> None:
        self._folder = folder
        self._link = link
        self._rules = {name: number for number, name in enumerate(rules)}
        self._tuning = tuning or LedgerTuning()
        self.state: str | None = None  # the name of the folder that is the table
        self.is_lost = False
        self._pieces: dict[str, list[Piece]] = {OPEN: [], CLOSED: []}
        self._next = _NextState(folder, "00000000")

    @property
    def numbers(self) -> Mapping[str, int]:
        """The number of each rule in marks."""
        return self._rules

    def open(self, state: str | None, lines: Sequence[int] | None) -> None:
        """Takes the state that was committed; what a killed process left behind goes, and readers see this one.

        Raises DataError where it is not as it was written. Where no state is there at all, it `is_lost`.
        """
        number = -1 if state is None else int(state)
        there = [path for path in self._folder.iterdir() if path.name.isdigit()]
        self.is_lost = state is not None and not there
        if state is not None and there:
            self._take(self._folder / state, lines)
        for path in self._folder.iterdir():
            if path.name.startswith(".") or not path.name.isdigit() or int(path.name) > number:
                shutil.rmtree(path, ignore_errors=True)
        if self.state is not None:
            self.show(self.state)

    def _take(self, folder: Path, lines: Sequence[int] | None) -> None:
        try:
            if not folder.is_dir():
                raise DataError(f"{folder} is missing.", path=str(folder))
            for path in sorted(folder.iterdir(), key=lambda path: path.name):
                rows = checked_rows(path)
                if rows:
                    self._pieces[path.name.partition("-")[0]].append(Piece(rows, path.name))
            if lines is not None and self.lines != list(lines):
                raise DataError(f"Files of {folder} are missing.", path=str(folder))
        except DataError as error:
            raise type(error)(
                f"{error} The table of violations cannot be continued. Remove {self._folder} to have open violations "
                "listed again from the rows; resolved ones are then gone.",
                **error.facts,
            ) from error
        self.state = folder.name

    @property
    def lines(self) -> list[int]:
        """How many violations it has, open ones and resolved ones."""
        return [sum(piece.n_rows for piece in self._pieces[kind]) for kind in (OPEN, CLOSED)]

    def open_of(self, rules: Sequence[str], find: Find) -> Listed:
        """The open violations of some rules, as lines of the table."""
        found: Listed = {}
        for name in rules:
            parts: list[tuple[pa.Table, PairMarks]] = []
            for piece in self._pieces[OPEN]:
                marks = piece.known_marks(self._current(), self._rules, find)
                own = marks.rules == self._rules[name]
                if own.any():
                    parts.append((picked(piece.read(self._current()), own), marks.chosen(own)))
            if parts:
                lines, both = pa.concat_tables([part for part, _ in parts]), PairMarks.joined([one for _, one in parts])
                found[name] = lines, (both.s,) if lines.column("t").null_count == len(lines) else (both.s, both.t)
        return found

    def rename_rules(self, rules: Sequence[str]) -> None:
        """Takes the rules of a watch that has others now; marks are made anew when they are asked for."""
        self._rules = {name: number for number, name in enumerate(rules)}
        self.forget_marks()

    def forget_marks(self) -> None:
        """Forgets the numbers of rows, which are others from now on, so they are looked up when they are asked for."""
        for piece in self._pieces[OPEN]:
            piece.marks = None

    @property
    def n_open(self) -> int:
        """How many violations are open."""
        return sum(piece.n_rows for piece in self._pieces[OPEN])

    def n_rows_of(self, rule: str, find: Find) -> int:
        """How many rows the open violations of a rule are about."""
        found = [np.empty(0, np.int64)]
        for piece in self._pieces[OPEN]:
            marks = piece.known_marks(self._current(), self._rules, find)
            own = marks.chosen(marks.rules == self._rules[rule])
            found += [own.s, own.t]
        return len(np.unique(np.concatenate(found)))

    def locate(self, find: Find) -> None:
        """Finds out which rows the open violations are about, as long as all of these rows are where they were."""
        for piece in self._pieces[OPEN]:
            piece.known_marks(self._current(), self._rules, find)

    def write(self, turn: Turn, schema: pa.Schema, find: Find) -> str:
        """Writes the state after a batch, which readers do not see yet; its name, the same one if nothing changes."""
        self._next = _NextState(self._folder, f"{0 if self.state is None else int(self.state) + 1:08}")
        before = self._names
        closing = self._taken_out(turn, find)
        came = PairMarks.joined([marks for _, marks in turn.added])
        lines = [table for table, _ in turn.added if len(table)]
        if lines:
            self._put(OPEN, Piece.of(pa.concat_tables(lines), came), self._tuning.piece)
        if closing:
            self._put(CLOSED, Piece.of(pa.concat_tables(closing)), self._tuning.closed_piece)
            while self._n_closed - self._pieces[CLOSED][0].n_rows >= self._tuning.most_closed:
                self._pieces[CLOSED].pop(0)
        self._thin_out()
        if self.state is not None and before == self._names:
            return self.state
        return self._written(schema)

    def show(self, state: str) -> None:
        """Lets readers see a state, and removes old ones."""
        self.state = state
        target = os.path.join(self._folder.name, state)
        if not self._link.is_symlink() or os.readlink(self._link) != target:
            draft = self._link.with_name(f".{self._link.name}.part")
            with contextlib.suppress(FileNotFoundError):
                draft.unlink()
            os.symlink(target, draft)
            os.replace(draft, self._link)
            sync_folder(self._link.parent)
        self._sweep(int(state))

    @property
    def _n_closed(self) -> int:
        return sum(piece.n_rows for piece in self._pieces[CLOSED])

    @property
    def _names(self) -> dict[str, list[str | None]]:
        return {kind: [piece.name for piece in pieces] for kind, pieces in self._pieces.items()}

    def _current(self) -> Path:
        return self._folder / str(self.state)

    def _taken_out(self, turn: Turn, find: Find) -> list[pa.Table]:
        """Takes resolved violations out of the open ones; their lines, closed by the batch.

        Pieces that lose lines are written again at once, so few of them are in memory, and joined where they are small.
        Where most lose some they are written as few wide ones, which takes less; wide ones are divided where few do.
        """
        dropped = [self._rules[name] for name in turn.dropped if name in self._rules]
        if not len(turn.gone) and not dropped:
            return []
        closing: list[pa.Table] = []
        kept: list[Piece] = []
        left, resolved = len(turn.resolved.s), MarkSet(turn.resolved)
        going, moved = GoingRows(turn.gone), SlotMoves(*turn.moved)
        leaving: list[tuple[PairMarks, Mask, Mask]] = []
        for piece in self._pieces[OPEN]:
            marks = piece.known_marks(self._current(), self._rules, find)
            places = going.places(marks)
            away = np.zeros(piece.n_rows, np.bool_)
            away[places[resolved.has(marks.chosen(places))]] = True
            left -= int(np.count_nonzero(away))
            stays = ~away if not dropped else ~away & ~np.isin(marks.rules, dropped)
            leaving.append((marks.moved(places, moved), away, stays))
        assert left == 0 or dropped, "what is resolved was open"
        losing = sum(not stays.all() for _, _, stays in leaving)
        most = self._tuning.piece * (self._tuning.wider if 2 * losing > len(leaving) else 1)
        shrunk = False  # whether the last piece has lost lines, and may lose its name for one with those that follow
        for piece, (marks, away, stays) in zip(self._pieces[OPEN], leaving, strict=True):
            if stays.all():
                if shrunk:
                    self._next.write(kept[-1], OPEN)
                kept.append(Piece(piece.n_rows, piece.name, piece.table, marks))
                shrunk = False
                continue
            table = piece.read(self._current())
            if away.any():
                closing.append(with_until(picked(table, away), turn.batch))
            if not stays.any():
                continue
            new = Piece.of(picked(table, stays), marks.chosen(stays))
            if shrunk and kept[-1].n_rows + new.n_rows <= most:
                kept[-1] = self._joined(kept[-1], new)
                continue
            if shrunk:
                self._next.write(kept[-1], OPEN)
            *whole, last = new.divided(most)
            for part in whole:
                self._next.write(part, OPEN)
            kept += [*whole, last]
            shrunk = True
        self._pieces[OPEN] = kept
        return closing

    def _put(self, kind: str, new: Piece, most: int) -> None:
        """Takes lines in at the end, joined with small pieces before them, and in pieces that are not too large."""
        pieces = self._pieces[kind]
        while pieces and pieces[-1].n_rows <= 2 * new.n_rows and pieces[-1].n_rows + new.n_rows <= most:
            new = self._joined(pieces.pop(), new)
        pieces += new.divided(most)

    def _thin_out(self) -> None:
        """Joins neighbours as long as there are many pieces for their lines."""
        for kind, most in ((OPEN, self._tuning.piece), (CLOSED, self._tuning.closed_piece)):
            pieces = self._pieces[kind]
            while len(pieces) > 16 + 8 * (sum(piece.n_rows for piece in pieces) // most):
                sizes = [one.n_rows + two.n_rows for one, two in itertools.pairwise(pieces)]
                place = int(np.argmin(sizes))
                pieces[place : place + 2] = [self._joined(pieces[place], pieces[place + 1])]

    def _joined(self, one: Piece, two: Piece) -> Piece:
        known = one.marks is not None and two.marks is not None
        marks = PairMarks.joined([one.marks, two.marks]) if known else None  # type: ignore[list-item]
        return Piece.of(pa.concat_tables([self._read(one), self._read(two)]), marks)

    def _read(self, piece: Piece) -> pa.Table:
        return piece.read(self._next.draft if piece.name in self._next.names else self._current())

    def _written(self, schema: pa.Schema) -> str:
        """Writes the pieces that are new, beside names for those that are not."""
        new = self._next
        pieces = [(kind, piece) for kind, some in self._pieces.items() for piece in some]
        pieces = pieces or [(OPEN, Piece.of(schema.empty_table()))]  # so there are columns to be read
        for kind, piece in pieces:
            if piece.name is None:
                new.write(piece, kind)
            elif piece.name not in new.names:
                new.link(self._current() / piece.name)
        return new.finished({piece.name for _, piece in pieces})

    def _sweep(self, newest: int) -> None:
        """Removes states that are old, or too many."""
        now = time.time()
        for path in self._folder.iterdir():
            age = newest - int(path.name) if path.name.isdigit() else 0
            if age > self._tuning.states:
                with contextlib.suppress(OSError):
                    if age > self._tuning.most_states or now - path.stat().st_mtime > self._tuning.seconds:
                        shutil.rmtree(path, ignore_errors=True)


class _NextState:
    """The next state of the table while it is written, in a folder that readers pass over."""

    def __init__(self, folder: Path, state: str) -> None:
        self._target = folder / state
        self.draft = folder / f".{state}"
        self.names: set[str] = set()  # of files that were written into it
        self._begun = False

    def write(self, piece: Piece, kind: str) -> None:
        """Writes a piece that has no file yet."""
        self.names.add(piece.write(self._folder(), f"{kind}-{self._target.name}-{len(self.names):04}"))

    def link(self, path: Path) -> None:
        """Takes a file of an earlier state in."""
        os.link(path, self._folder() / path.name)

    def finished(self, used: Set[str | None]) -> str:
        """Gives the state its name, with all files on the disk, but those that were written and are not used."""
        for name in self.names - used:
            (self.draft / name).unlink()
        sync_folder(self._folder())
        os.rename(self.draft, self._target)
        sync_folder(self._target.parent)
        return self._target.name

    def _folder(self) -> Path:
        if not self._begun:
            for path in (self._target, self.draft):
                shutil.rmtree(path, ignore_errors=True)
            self.draft.mkdir()
            self._begun = True
        return self.draft
