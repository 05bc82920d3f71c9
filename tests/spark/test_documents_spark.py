"""Examples of the documents that need a session."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from documents import needs_spark, run_all

ROOT = Path(__file__).parents[2]
ON_SPARK = [path for path in sorted((ROOT / "docs").rglob("*.md")) if needs_spark(path)]


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore::refute.errors.InferredTypesWarning")
@pytest.mark.parametrize("path", ON_SPARK, ids=lambda path: path.stem)
def test_examples_give_what_they_say(
    path: Path, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run_all(path.read_text(encoding="utf-8"), tmp_path, spark=True) >= 1
