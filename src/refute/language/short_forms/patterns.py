"""Regular expressions of rules: one dialect for every engine, that of RE2, which Arrow has.

RE2 takes time in proportion to the text whatever the pattern, so none makes a run hang. It has no look-around and no
references back to groups. A pattern is held against the whole text; `.*` around it searches.
"""

from __future__ import annotations

from functools import lru_cache

from refute.errors import RuleError

_MOST_LETTERS = 10_000
_MISTAKES = {  # what RE2 says, and what it means; the place that it names, if any, is {place}
    "missing ]": "A [ is never closed.",
    "missing )": "A ( is never closed.",
    "unexpected )": "A ) closes nothing.",
    "bad repetition operator": "{place} repeats what is repeated already.",
    "no argument for repetition operator": "There is nothing before {place} that it could repeat.",
    "invalid repetition size": "{place} is too much, or has the larger number first: 1,000 repetitions are the most.",
    "trailing \\": "It ends in a \\, which needs a character behind it.",
    "invalid character class range": "{place} is not a range or class of characters.",
    "invalid perl operator": "This dialect (RE2) does not know {place}.",
    "invalid escape sequence": "This dialect (RE2) does not know {place}.",
}


def whole(pattern: str) -> str:
    """The pattern as one that finds nothing but the whole text."""
    return rf"\A(?:{pattern})\z"


@lru_cache(maxsize=1024)
def check_pattern(pattern: str) -> None:
    """Raises RuleError for what is not a regular expression of this dialect."""
    if len(pattern) > _MOST_LETTERS:
        raise RuleError(f"This regular expression has more than {_MOST_LETTERS:,} characters.", most=_MOST_LETTERS)
    reason = _wrong(pattern) or _wrong(whole(pattern))
    if reason is None:
        return
    raise RuleError(f"{pattern!r} is not a regular expression that rules can use: {reason}", value=pattern)


@lru_cache(maxsize=1 << 12)
def matched(pattern: str, text: str) -> bool:
    """Whether the whole text matches."""
    import pyarrow as pa
    import pyarrow.compute as pc

    return bool(pc.match_substring_regex(pa.array([text], pa.large_string()), whole(pattern))[0].as_py())


def _wrong(pattern: str) -> str | None:
    """Why RE2 refuses a pattern; None where it takes it."""
    import pyarrow as pa  # which most of a language does without
    import pyarrow.compute as pc

    try:
        pattern.encode()
        pc.match_substring_regex(pa.array([""], pa.large_string()), pattern)
    except UnicodeEncodeError:
        return "It has half a character, which no text has."
    except pa.ArrowInvalid as error:
        return _in_words(pattern, str(error))
    return None


def _in_words(pattern: str, said: str) -> str:
    """What is wrong with a pattern, by what RE2 says of it."""
    if any(sign in pattern for sign in ("(?=", "(?!", "(?<=", "(?<!")):
        return "It looks ahead or behind, (?=...), which this dialect (RE2) does not have."
    mistake, _, place = said.removeprefix("Invalid regular expression: ").strip().partition(": ")
    if place[:1] == "\\" and (place[1:2].isdigit() or place[1:2] == "k"):
        return f"{place} refers back to a group, which this dialect (RE2) does not have."
    meant = _MISTAKES.get(mistake)
    return "It is not valid." if meant is None else meant.format(place=place)
