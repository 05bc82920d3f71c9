"""The examples of README.md and of docs run, and give what the comments beside them say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from documents import SHOWN, blocks, needs_spark, run_all
from refute.language.formats import FORMATS

ROOT = Path(__file__).parents[1]
DOCUMENTS = ["README.md", *sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md"))]
HELD_ELSEWHERE = {"docs/cluster.md"}  # tests/spark/test_cluster_guide.py runs its commands on a cluster
ON_SPARK = [name for name in DOCUMENTS if needs_spark(ROOT / name)]


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", [name for name in DOCUMENTS if name not in HELD_ELSEWHERE | set(ON_SPARK)])
def test_examples_give_what_they_say(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = read(name)
    values = len(re.findall(r"^(?!\s*#).*\S  # (?!exit code|noqa)", text, re.MULTILINE))
    assert run_all(text, tmp_path) >= min(values, 1)


def test_every_block_is_one_that_is_run_or_shows_output() -> None:
    known = {"python", "sh", "yaml", "csv", "sql", *SHOWN}
    for name in DOCUMENTS:
        assert {block.language for block in blocks(read(name))} <= known, name


def test_the_image_of_the_guide_has_a_python_for_refute_and_one_version_of_spark() -> None:
    (image,) = (block.text for block in blocks(read("docs/cluster.md")) if block.text.startswith("FROM "))
    (needed,) = re.findall(r'^requires-python = ">=3\.(\d+)"', read("pyproject.toml"), re.MULTILINE)
    last = image[image.rindex("FROM ") :]
    (python,) = re.findall(r"^FROM python:3\.(\d+)-slim$", last, re.MULTILINE)
    assert int(python) >= int(needed)
    (spark,) = re.findall(r"^FROM apache/spark:(\S+) AS spark$", image, re.MULTILINE)
    assert f"'pyspark=={spark}'" in last


def test_nothing_but_a_title_follows_the_language_of_a_block_or_the_site_shows_it_as_running_text() -> None:
    for name in DOCUMENTS:
        for block in blocks(read(name)):
            assert not block.words or re.fullmatch(r'title="[^"]+"', block.words), f"{name}: {block.words}"


def test_links_between_documents_lead_somewhere() -> None:
    for name in DOCUMENTS:
        for target, anchor in re.findall(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)", read(name)):
            file = (ROOT / name).parent / target if target else ROOT / name
            assert file.exists(), f"{name}: {target}"
            if anchor:
                headings = re.findall(r"^#+ (.+)$", file.read_text(encoding="utf-8"), re.MULTILINE)
                slugs = [re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings]
                assert anchor in slugs, f"{name}: {target}#{anchor}"


def test_the_page_of_rules_names_every_format() -> None:
    section = read("docs/rules.md").partition("## Other formats")[2]
    assert all(f"`{name}`" in section for name in FORMATS)


def test_paths_in_the_map_of_papers_exist() -> None:
    named = re.findall(r"`([\w/]+/[\w/]*\w(?:\.py)?)`", read("docs/algorithms.md"))
    assert named
    for path in named:
        assert (ROOT / "src/refute" / path).exists() or (ROOT / path).exists() or path == "src/refute", path
