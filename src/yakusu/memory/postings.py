"""Finds the segments whose words may be similar to those of a text, without reading all of them.

For each word, the memory's file holds its postings: the segments that contain it, and their lengths
in words. Two texts of n and m words whose similarity is at least t share t max(n, m) words or more.
So of the n words of a text, any n - t n + 1 include a word of every segment that is that similar;
taken are the rarest ones. No similar segment is missed.

    n = 12, t = 0.75: at least 9 words are shared, so one of the 4 rarest words is, or two of the 5
    rarest, or three of the 6 rarest ...

A word that occurs twice in a text counts as two different words.
"""

import sqlite3
from collections import Counter
from collections.abc import Sequence
from itertools import accumulate
from math import ceil, log
from typing import NamedTuple

import numpy as np

from yakusu.arrays import Doubles, Longs
from yakusu.sqlite import DamagedFileError

SCHEMA = """
CREATE TABLE posting (
    word INTEGER NOT NULL,
    first INTEGER NOT NULL,     -- the first segment of these postings
    n INTEGER NOT NULL,         -- their number
    segments BLOB NOT NULL,     -- uint32, ascending
    lengths BLOB NOT NULL,      -- uint8, at most 255
    PRIMARY KEY (word, first)
) WITHOUT ROWID;
"""
_MOST_TIMES = 1 << 16  # a word occurs; further occurrences are ignored
_LONGEST = 255  # words of a segment, as its length is stored
_FULL = 256  # postings in a row to which no single segment is added
_FEW = 2_000  # postings that are read without looking for a cheaper way
_LISTED = 10_000  # words in a statement
_MOST_READ = 4_000  # postings after which no further word is read for related segments
_DEEPEST = 4  # words that a segment must share with a longer prefix


class _Posted(NamedTuple):
    """The postings of a word: segments, ascending, and their lengths."""

    segments: "np.ndarray[tuple[int], np.dtype[np.uint32]]"
    lengths: "np.ndarray[tuple[int], np.dtype[np.uint8]]"


def features(text: str) -> list[int]:
    """Numbers of the words of an encoded text; the same word has several, each once."""
    seen = Counter[str]()
    found = []
    for word in text:
        if seen[word] < _MOST_TIMES:
            found.append(ord(word) * _MOST_TIMES + seen[word])
        seen[word] += 1
    return found


def add_postings(db: sqlite3.Connection, segments: Sequence[tuple[int, str]]) -> None:
    """Add the postings of new segments.

    Args:
        db: The file, in a transaction.
        segments: The number of each, which is higher than that of earlier ones, and its encoded
            text.
    """
    posted: dict[int, list[tuple[int, int]]] = {}
    for number, text in segments:
        length = min(len(text), _LONGEST)
        for word in features(text):
            posted.setdefault(word, []).append((number, length))
    rows = list[tuple[int, int, int, bytes, bytes]]()
    for word in sorted(posted):
        numbers, lengths = zip(*posted[word], strict=True)
        old = _last(db, word) if len(numbers) < _FULL else None
        first, before = (numbers[0], (b"", b"")) if old is None else (old[0], old[1:])
        both = (
            before[0] + np.array(numbers, np.uint32).tobytes(),
            before[1] + np.array(lengths, np.uint8).tobytes(),
        )
        rows.append((word, first, len(both[1]), *both))
    db.executemany("INSERT OR REPLACE INTO posting VALUES (?, ?, ?, ?, ?)", rows)


def _last(db: sqlite3.Connection, word: int) -> tuple[int, bytes, bytes] | None:
    """The last row of a word, if it has room."""
    found: tuple[int, int, bytes, bytes] | None = db.execute(
        "SELECT n, first, segments, lengths FROM posting WHERE word = ? "
        "ORDER BY first DESC LIMIT 1",
        (word,),
    ).fetchone()
    return found[1:] if found and found[0] < _FULL else None


def possible_segments(db: sqlite3.Connection, text: str, threshold: float) -> Longs:
    """The numbers of the segments that may be as similar to an encoded text as a threshold.

    Among them are all that are.
    """
    wanted = features(text)
    n = len(wanted)
    counts = _counts(db, wanted)
    wanted.sort(key=lambda word: (counts.get(word, 0), word))
    n_words, depth = _prefix([counts.get(word, 0) for word in wanted], threshold)
    posted = [_read(db, word) for word in wanted[:n_words] if word in counts]
    if not posted:
        return np.zeros(0, np.int64)
    every = np.concatenate([each.segments for each in posted])
    lengths = np.concatenate([each.lengths for each in posted])
    least, most = ceil(threshold * n - 1e-9), int(n / threshold + 1e-9)
    possible = (lengths >= min(least, _LONGEST)) & (lengths <= min(most, _LONGEST))
    possible |= lengths == _LONGEST
    numbers, places, shared = np.unique(every[possible], return_index=True, return_counts=True)
    longer = np.maximum(lengths[possible][places].astype(np.int64), n)
    enough = shared + (n - n_words) >= threshold * longer - 1e-9
    found: Longs = numbers[(shared >= depth) & enough].astype(np.int64)
    return found


def related_segments(
    db: sqlite3.Connection, text: str, n_segments: int, most: int
) -> dict[int, float]:
    """The segments that share the most informative words with a text: how related, by number.

        sum of idf(w) over the words of both / the larger sum over the words of one

    idf(w) = log(1 + N / n) for a word of n of the N segments. Only the postings of the rarest words
    are read; the other words of a segment count as much as those of the text do on average.

    Args:
        db: The file.
        text: The encoded text.
        n_segments: N.
        most: How many segments are wanted. Those that are as related as the last one are returned,
            too.
    """
    wanted = features(text)
    counts = _counts(db, wanted)
    idf = {word: log(1 + n_segments / counts.get(word, 1)) for word in wanted}
    total = sum(idf[word] for word in wanted)
    known = sorted(
        (word for word in wanted if word in counts), key=lambda each: (counts[each], each)
    )
    n_read = accumulate((counts[word] for word in known), initial=0)
    words = [word for word, before in zip(known, n_read, strict=False) if before < _MOST_READ]
    posted = [_read(db, word) for word in words]
    if not posted:
        return {}
    every = np.concatenate([each.segments for each in posted])
    gains = np.repeat([idf[word] for word in words], [len(each.segments) for each in posted])
    order = np.argsort(every, kind="stable")
    every, gains = every[order], gains[order]
    first = np.flatnonzero(np.diff(every, prepend=every[:1] - 1))  # of each segment
    shared = np.add.reduceat(gains, first)
    others = np.concatenate([each.lengths for each in posted])[order[first]] - np.diff(
        first, append=len(every)
    )  # words that are not shared
    found: Doubles = shared / np.maximum(total, shared + others * (total / len(wanted)))
    least = np.partition(found, -most)[-most] if len(found) > most else 0.0
    chosen = found >= least
    return dict(zip(every[first][chosen].tolist(), found[chosen].tolist(), strict=True))


def forget(db: sqlite3.Connection, removed: Sequence[tuple[int, str]]) -> None:
    """Remove the postings of segments.

    Args:
        db: The file, in a transaction.
        removed: The number of each, and its encoded text.
    """
    gone: dict[int, list[int]] = {}
    for number, text in removed:
        for word in features(text):
            gone.setdefault(word, []).append(number)
    query = "SELECT first, segments, lengths FROM posting WHERE word = ? AND first <= ?"
    for word, numbers in gone.items():
        for first, *blobs in db.execute(query, (word, max(numbers))).fetchall():
            posted = _posted(*blobs)
            kept = ~np.isin(posted.segments, numbers)
            if kept.all():
                continue
            db.execute("DELETE FROM posting WHERE word = ? AND first = ?", (word, first))
            if kept.any():
                row = (posted.segments[kept].tobytes(), posted.lengths[kept].tobytes())
                db.execute(
                    "INSERT INTO posting VALUES (?, ?, ?, ?, ?)",
                    (word, first, int(kept.sum()), *row),
                )


def _counts(db: sqlite3.Connection, wanted: Sequence[int]) -> dict[int, int]:
    """The number of postings of each word that has any."""
    found: dict[int, int] = {}
    for start in range(0, len(wanted), _LISTED):
        words = wanted[start : start + _LISTED]
        marks = ", ".join("?" * len(words))
        query = f"SELECT word, sum(n) FROM posting WHERE word IN ({marks}) GROUP BY word"
        found.update(db.execute(query, words))
    return found


def _prefix(counts: Sequence[int], threshold: float) -> tuple[int, int]:
    """How many of the rarest words are looked up, and how many of them a segment must contain."""
    n = len(counts)
    shortest = n - ceil(threshold * n - 1e-9) + 1
    best = (shortest, 1)
    cost = float(sum(counts[:shortest]))
    if cost <= _FEW:
        return best
    for depth in range(2, _DEEPEST + 1):
        n_words = shortest + depth - 1
        if n_words > n:
            break
        # Reading postings is cheap; comparing the segments in which they coincide is not.
        total = sum(counts[:n_words])
        estimate = total + sum(counts[:shortest]) * 20 / 4**depth
        if estimate < cost * (20 if depth == 2 else 1):
            best, cost = (n_words, depth), estimate
    return best


def _read(db: sqlite3.Connection, word: int) -> _Posted:
    rows = db.execute(
        "SELECT segments, lengths FROM posting WHERE word = ? ORDER BY first", (word,)
    ).fetchall()
    return _posted(*(b"".join(row[side] for row in rows) for side in (0, 1)))


def _posted(segments: bytes, lengths: bytes) -> _Posted:
    if len(segments) != 4 * len(lengths):
        raise DamagedFileError("the index of its words is incomplete")
    return _Posted(np.frombuffer(segments, np.uint32), np.frombuffer(lengths, np.uint8))
