"""The common questions asked once of the sample that ships, so all that they need is compiled and kept.

`refute prepare` has processes run this, one for each part: only one thread of a process can compile at a time.
"""

from __future__ import annotations

import sys

from refute.api.functions import check
from refute.api.proposing import propose
from refute.data import RULES, TABLE
from refute.kernels.sparing import Sparing, sparing_by
from refute.language.rulebook.reading.load import load_rules
from refute.runtime.compiling import COMPILING


def _check() -> None:
    report = check(TABLE, load_rules(RULES), engine="local")
    str(report)
    report.suspects.to_arrow()


def _propose() -> None:
    propose(TABLE, engine="local").to_yaml()


PARTS = {"check": _check, "propose": _propose}

if __name__ == "__main__":
    with sparing_by(Sparing(few=0)):  # all is compiled, also what a few rows are spared
        PARTS[sys.argv[1]]()
    sys.stdout.write(str(COMPILING.seconds))
