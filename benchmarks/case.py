"""What a benchmark is: contestants that do one job, and what we claim about them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.measure import Measurement
from benchmarks.worker import Worker

US = "refute"


@dataclass(frozen=True, slots=True)
class Contestant:
    """One way to do the job.

    A function of this process, a command line that is run as a process of its own, or a worker: a process that holds
    its data, does the job whenever it is told to, and is ended when it takes too long.
    """

    name: str
    call: Callable[[], Any] | None = None
    command: Sequence[str] | None = None
    worker: Worker | None = None
    absent: str = ""  # why it cannot take part, such as a package that is not installed

    def __post_init__(self) -> None:
        given = sum(way is not None for way in (self.call, self.command, self.worker)) + bool(self.absent)
        assert given == 1, f"{self.name} needs a call, a command, a worker, or a reason to be absent"


@dataclass(frozen=True, slots=True)
class Claim:
    """A statement about the results that the run finds true or false."""

    text: str
    holds: Callable[[Mapping[str, Measurement]], bool]


@dataclass(frozen=True, slots=True)
class Case:
    """A job. `contestants` prepares the data and gives us first, then the peers; their answers must be equal.

    A case that is run `once` has one round and no other, for time and memory alike: its calls take long.
    """

    name: str
    title: str
    contestants: Callable[[], Sequence[Contestant]]
    claims: Sequence[Claim] = field(default=())
    same_answer: bool = True
    once: bool = False


def no_peer_faster(factor: float = 1.0) -> Claim:
    """The claim that every peer takes at least `factor` times as long as we do."""

    def holds(results: Mapping[str, Measurement]) -> bool:
        ours = results[US].seconds
        return all(peer.seconds >= factor * ours for name, peer in results.items() if name != US)

    return Claim("no peer is faster" if factor == 1.0 else f"every peer takes at least {factor:g} times as long", holds)
