"""Readers of similarity, analogy and completion test sets; the content determines the kind."""

import math
import re
from pathlib import Path

from yakusu.errors import AS_UTF8, DataError
from yakusu.folder import read_utf8
from yakusu.vectors.wordtasks import Analogy, Completion, Question, Similarity, TestSet

_HEADER = ["id", "question", *"abcde", "answer"]
_BLANK = "_____"
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")  # letters, and apostrophes between them


def read_task(path: str | Path) -> TestSet:
    """Read a test set from a UTF-8 file; its kind is recognised by the first line.

    Similarity: word, word and score, tab-separated. Analogy: four words per line, with optional
    `: section` lines. Completion: tab-separated, with the header `id question a b c d e answer` and
    `_____` for the blank.

    Raises:
        DataError: The file cannot be read, is of another kind, or has an invalid line.
    """
    path = Path(path)
    try:
        lines = read_utf8(path).removeprefix("\ufeff").split("\n")
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not UTF-8: {AS_UTF8}") from error
    filled = [(number, line) for number, line in enumerate(lines, 1) if line.strip()]
    if not filled:
        raise DataError(
            f"{path} is empty: choose a test set of similarities, analogies or completions"
        )
    first = filled[0][1]
    if first.split("\t") == _HEADER:
        return _completion(path, filled)
    if first.count("\t") == 2:
        return _similarity(path, filled)
    if first.startswith(":") or len(first.split()) == 4:
        return _analogy(path, filled)
    raise _bad(path, filled[0], "two words and a score separated by tabs, four words, or a header")


def _similarity(path: Path, lines: list[tuple[int, str]]) -> Similarity:
    pairs, scores = [], []
    for line in lines:
        try:
            first, second, score = line[1].split("\t")
            scores.append(float(score))
        except ValueError as error:
            raise _bad(path, line, "two words and a score separated by tabs") from error
        if not math.isfinite(scores[-1]):
            raise _bad(path, line, "two words and a finite score")
        pairs.append((first, second))
    return Similarity(path.stem, tuple(pairs), tuple(scores))


def _analogy(path: Path, lines: list[tuple[int, str]]) -> Analogy:
    questions, sections, section = [], [], ""
    for line in lines:
        if line[1].startswith(":"):
            section = line[1][1:].strip()
            continue
        words = line[1].split()
        if len(words) != 4:
            raise _bad(path, line, "four words or a section (': name')")
        questions.append(tuple(words))
        sections.append(section)
    if not questions:
        raise _bad(path, lines[-1], "followed by a question of four words")
    return Analogy(path.stem, tuple(questions), tuple(sections))


def _completion(path: Path, lines: list[tuple[int, str]]) -> Completion:
    questions = []
    for line in lines[1:]:
        fields = line[1].split("\t")
        if len(fields) != 8 or fields[1].count(_BLANK) != 1 or fields[-1] not in [*"abcde"]:
            raise _bad(
                path, line, f"8 tab-separated fields with one {_BLANK} and an answer from a to e"
            )
        _, sentence, *candidates, answer = fields
        words = tuple(_WORD.findall(sentence.replace(_BLANK, " ")))
        questions.append(Question(words, tuple(candidates), "abcde".index(answer)))
    if not questions:
        raise _bad(path, lines[0], "followed by a question")
    return Completion(path.stem, tuple(questions))


def _bad(path: Path, line: tuple[int, str], wanted: str) -> DataError:
    number, text = line
    return DataError(f"{path}, line {number}: {text[:60]!r} is not {wanted}: correct the line")
