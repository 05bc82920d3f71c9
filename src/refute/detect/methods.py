"""The ways to answer a problem, behind one small protocol."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Protocol, cast

import numpy as np
from numpy.typing import NDArray

from refute.plan.method import MethodName
from refute.plan.problem import Problem, Rows
from refute.plan.share import Share
from refute.plan.step import Step


class Method(Protocol):
    """What every method can do with a problem. All methods give equal answers."""

    def exists(
        self, problem: Problem, share: Share | None = None, *, first_rows: bool = True
    ) -> tuple[int, int] | None:
        """Some violating pair of row numbers, or None; without `first_rows` the caller has looked at the first ones."""

    def exists_steps(self, problem: Problem, share: Share | None = None, *, first_rows: bool = True) -> Iterator[Step]:
        """The steps that `exists` takes, none of them taken."""

    def count(self, problem: Problem, share: Share | None = None, *, broken: bool = False) -> int:
        """The number of violating ordered pairs; with `broken` the caller has found that there is one."""

    def count_steps(self, problem: Problem, share: Share | None = None, *, broken: bool = False) -> Iterator[Step]:
        """The steps that `count` takes, none of them taken."""

    def partners(self, problem: Problem, share: Share | None = None) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """For each point of side s, and of side t, its number of partners."""

    def partners_steps(self, problem: Problem, share: Share | None = None) -> Iterator[Step]:
        """The steps that `partners` takes, none of them taken."""

    def pairs(
        self, problem: Problem, share: Share | None = None, limit: int | None = None
    ) -> Iterator[tuple[Rows, Rows]]:
        """The violating pairs in bounded chunks of row numbers, at most `limit`."""


class SweepMethod(Method, Protocol):
    """What the method sweep can do besides."""

    def involved(
        self, problem: Problem, share: Share | None = None
    ) -> tuple[int, NDArray[np.bool_], NDArray[np.bool_]]:
        """The number of violating ordered pairs, of which there is one, and which points of each side are in one."""

    def involved_steps(self, problem: Problem, share: Share | None = None) -> Iterator[Step]:
        """The steps that `involved` takes, none of them taken."""


def method_of(name: MethodName) -> Method:
    """The implementation of a method; each is imported, and so compiled, only when it is first used."""
    assert name is not MethodName.AUTO
    return cast(Method, import_module(f"refute.detect.{name.value}"))


def sweep() -> SweepMethod:
    """The method sweep."""
    return cast(SweepMethod, method_of(MethodName.SWEEP))
