"""`python -m refute.spark.prepare`: makes the class archive now; with `--gently`, at the lowest priority."""

from __future__ import annotations

import os
import sys

from refute.spark.archive import ClassArchive
from refute.spark.java import find_java

if __name__ == "__main__":
    if "--gently" in sys.argv:
        os.nice(19)
    ClassArchive.of(find_java()).make()
