"""Analogy, similarity, sentence completion, and their test sets."""

import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from yakusu.compress.codes import Matrix
from yakusu.errors import DataError
from yakusu.vectors import wordtasks
from yakusu.vectors.outcomes import TaskResult, mean_of
from yakusu.vectors.testsets import read_task
from yakusu.vectors.wordtasks import Analogy, Completion, Question, Similarity

DATA = Path(os.environ.get("YAKUSU_DATA", "/nowhere"))
HEADER = "id\tquestion\ta\tb\tc\td\te\tanswer\n"
N = 60
INDEX = {f"w{i}": i for i in range(N)}


@pytest.fixture
def vectors() -> npt.NDArray[np.float32]:
    return np.random.default_rng(5).standard_normal((N, 5)).astype(np.float32)


@pytest.fixture
def few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Answer questions in blocks of seven."""
    monkeypatch.setattr(wordtasks, "_COSINES", 7 * N)


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "set.txt"
    path.write_text(text, encoding="utf-8")
    return path


def cosine(x: Matrix, y: Matrix) -> float:
    return float(x @ y / math.sqrt((x @ x) * (y @ y)))


def questions(n: int, n_words: int) -> tuple[tuple[str, ...], ...]:
    rng = np.random.default_rng(8)
    return tuple(tuple(f"w{i}" for i in rng.choice(n_words, 4, replace=False)) for _ in range(n))


# --- similarity ---


def test_similarity_is_the_rank_correlation_with_shared_ties(vectors: Matrix) -> None:
    rng = np.random.default_rng(6)
    rows, scores = rng.integers(0, N, (80, 2)), rng.integers(0, 6, 80).astype(float)
    rows = rows[rows[:, 0] != rows[:, 1]]
    scores = scores[: len(rows)]
    task = Similarity("s", tuple((f"w{i}", f"w{j}") for i, j in rows), tuple(scores))
    cosines = [cosine(vectors[i], vectors[j]) for i, j in rows]

    def ranks(values: list[float]) -> list[float]:
        return [sum(v < w for v in values) + sum(v == w for v in values) / 2 for w in values]

    expected = np.corrcoef(ranks(list(scores)), ranks(cosines))[0, 1]
    result = task.score(INDEX, vectors)
    assert result.score == pytest.approx(expected, abs=1e-9)
    assert (result.name, result.used, result.left_out) == ("s", len(rows), 0)


def test_similarity_is_1_for_the_order_of_cosines_and_minus_1_reversed() -> None:
    angles = np.array([0, 0.1, 0.5, 0.9, 1.4])
    fan = np.column_stack([np.cos(angles), np.sin(angles)]) * [[1], [9], [2], [0.1], [5]]
    pairs = tuple(("w0", f"w{i}") for i in range(1, 5))
    assert Similarity("s", pairs, (4, 3, 2, 1)).score(INDEX, fan).score == pytest.approx(1)
    assert Similarity("s", pairs, (1, 2, 3, 4)).score(INDEX, fan).score == pytest.approx(-1)


def test_pairs_of_equal_words_tie(vectors: Matrix) -> None:
    pairs = tuple((f"w{i}", f"w{i}") for i in range(N))
    scores = tuple(float(i % 7) for i in range(N))
    far = (("w0", "w1"), ("w2", "w3"))
    tied = Similarity("s", pairs + far, (*scores, 9.0, 9.0)).score(INDEX, vectors).score
    again = Similarity("s", pairs[::-1] + far, (*scores, 9.0, 9.0)).score(INDEX, vectors).score
    assert tied == again < 0
    assert math.isnan(Similarity("s", pairs, scores).score(INDEX, vectors).score)


def test_lookup_is_as_written_then_lower_case_and_counts_unknown_pairs() -> None:
    index = {"polish": 0, "Polish": 1, "shoe": 2, "pole": 3}
    axes = np.array([[1.0, 0, 0], [0, 1, 0], [0.9, 0.1, 0], [0.2, 0.9, 0.1]])
    pairs = (("Polish", "Pole"), ("polish", "Shoe"), ("Polish", "shoe"), ("shoe", "lost"))
    result = Similarity("s", pairs, (2, 3, 1, 0)).score(index, axes)
    assert (result.score, result.used, result.left_out) == (pytest.approx(1), 3, 1)


def test_a_set_of_unknown_words_has_no_score_and_the_mean_names_it() -> None:
    empty = Similarity("none", (("x", "y"),), (1.0,)).score(INDEX, np.eye(3))
    assert math.isnan(empty.score)
    mean = mean_of([TaskResult("a", 0.5, 9, 1, ""), TaskResult("b", 0.25, 3, 2, ""), empty])
    assert (mean.score, mean.used, mean.left_out) == (0.375, 12, 4)
    assert mean.how == "unweighted mean of a, b; without a score: none"
    assert math.isnan(mean_of([empty]).score)


# --- analogy ---


@pytest.mark.parametrize("candidates", [None, 25])
@pytest.mark.usefixtures("few_at_a_time")
def test_analogies_match_brute_force(vectors: Matrix, candidates: int | None) -> None:
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    n = candidates or N
    asked, by_hand = [], []
    for a, b, c, d in ([INDEX[w] for w in question] for question in questions(200, N)):
        others = [i for i in range(n) if i not in (a, b, c)]
        best = max(others, key=lambda i: cosine(unit[i], unit[b] - unit[a] + unit[c]))
        answer = d if len(asked) % 3 else best  # a third of the answers are right
        asked.append(tuple(f"w{i}" for i in (a, b, c, answer)))
        if max(a, b, c, answer) < n:
            by_hand.append(best == answer)
    task = Analogy("a", tuple(asked), ("",) * len(asked))
    result = task.score(INDEX, vectors, candidates=candidates)
    assert result.used == len(by_hand) and result.left_out == 200 - len(by_hand)
    assert result.score == pytest.approx(np.mean(by_hand))
    assert 0 < sum(by_hand) < len(by_hand)
    assert result.parts == ()
    assert ("the 25 most frequent words" if candidates else "all words") in result.how


def test_an_input_is_never_the_answer() -> None:
    index = {"king": 0, "queen": 1, "prince": 2, "princess": 3, "cow": 4}
    royal = np.array([[1, 0, 0.1], [1, 0.1, 0], [1, 0, 0], [0.7, 0.6, 0], [-1, 0, 0]])
    unit = royal / np.linalg.norm(royal, axis=1, keepdims=True)
    assert (unit @ (unit[1] - unit[0] + unit[2])).argmax() in (0, 1, 2)
    task = Analogy("a", (("king", "queen", "prince", "princess"),), ("",))
    assert task.score(index, royal).score == 1


def test_google_sections_also_have_semantic_and_syntactic_scores() -> None:
    index = {w: i for i, w in enumerate("abcdx")}
    square = np.array([[1.0, 0, 0], [1, 1, 0], [1, 0, 1], [1, 1, 1], [-1, 0, 0]])
    right, wrong, unknown = tuple("abcd"), tuple("abcx"), tuple("abc?")
    task = Analogy(
        "g",
        (right, wrong, right, right, wrong, unknown),
        ("capital", "capital", "family", "gram1", "gram1", "gram2"),
    )
    result = task.score(index, square)
    assert (result.score, result.used, result.left_out) == (pytest.approx(3 / 5), 5, 1)
    found = {part.name: (part.score, part.used, part.left_out) for part in result.parts}
    assert math.isnan(found.pop("gram2")[0])
    assert found == {
        "semantic": (pytest.approx(2 / 3), 3, 0),
        "syntactic": (pytest.approx(1 / 2), 2, 1),
        "capital": (0.5, 2, 0),
        "family": (1, 1, 0),
        "gram1": (0.5, 2, 0),
    }


def test_fewer_than_1_candidate_is_rejected() -> None:
    with pytest.raises(DataError, match="candidates = 0: choose 1 or more"):
        Analogy("a", (tuple("abcd"),), ("",)).score({}, np.eye(2), candidates=0)


# --- completion ---


def test_a_blank_gets_the_candidate_nearest_to_the_sentence() -> None:
    index = {"sea": 0, "ship": 1, "sailed": 2, "loaf": 3, "bread": 4}
    vectors = np.array([[3.0, 0], [1, 1], [2, 0.6], [0, 1], [0, 9]])
    candidates = ("loaf", "sailed", "Unknown", "bread", "lost")
    words = ("The", "ship", "by", "sea")  # their mean is (2, 0.5), nearest "sailed"
    asked = [Question(words, candidates, answer) for answer in range(5)]
    results = [Completion("c", (question,)).score(index, vectors) for question in asked]
    assert [result.score for result in results if result.used] == [0, 1, 0]
    result = Completion("c", tuple(asked)).score(index, vectors)
    assert (result.score, result.used, result.left_out) == (pytest.approx(1 / 3), 3, 2)
    no_sentence = Question(("xx", "yy"), candidates, 1)
    assert Completion("c", (no_sentence,)).score(index, vectors).left_out == 1


def test_a_candidate_without_a_vector_is_never_chosen() -> None:
    index = {"up": 0, "down": 1}
    opposite = np.array([[1.0, 0], [-1, 0]])
    question = Question(("up",), ("one", "two", "down", "three", "four"), 2)
    assert Completion("c", (question,)).score(index, opposite).score == 1


# --- progress ---


class Counted:
    """A progress reporter that counts the steps."""

    def __init__(self) -> None:
        self.tasks: list[tuple[str, str, int | None]] = []
        self.done = 0

    def say(self, text: str) -> None:
        raise AssertionError(text)

    @contextmanager
    def track(self, what: str, unit: str, total: int | None) -> Iterator["Counted"]:
        self.tasks.append((what, unit, total))
        yield self

    def advance(self, n: int = 1, note: str = "", total: int | None = None) -> None:
        self.done += n


@pytest.mark.usefixtures("few_at_a_time")
def test_progress_advances_by_the_announced_total(vectors: Matrix) -> None:
    asked = questions(30, N)
    pairs = tuple((a, b) for a, b, _, _ in asked)
    blanks = tuple(Question((a,), (a, b, c, d, a), 1) for a, b, c, d in asked)
    for name, unit, n, run in [
        ("s", "pairs", 30, Similarity("s", pairs, (1.0,) * 30).score),
        ("a", "questions", 30, Analogy("a", asked, ("",) * 30).score),
        ("c", "questions", 30, Completion("c", blanks).score),
    ]:
        counted = Counted()
        run(INDEX, vectors, progress=counted)
        assert counted.tasks == [(name, unit, n)] and counted.done == n


# --- reading ---


def test_similarities_are_recognised_by_two_tabs(tmp_path: Path) -> None:
    task = read_task(written(tmp_path, "New York\tcity\t7.5\r\n\nsun\tmoon\t-1e1\n"))
    assert task == Similarity("set", (("New York", "city"), ("sun", "moon")), (7.5, -10))


def test_analogies_are_read_with_and_without_sections(tmp_path: Path) -> None:
    task = read_task(written(tmp_path, "\ufeff: family\na b c d\n: gram1-x\ne f g h\ni j k l\n"))
    asked = (tuple("abcd"), tuple("efgh"), tuple("ijkl"))
    assert task == Analogy("set", asked, ("family", "gram1-x", "gram1-x"))
    assert read_task(written(tmp_path, "a b c d\n")) == Analogy("set", asked[:1], ("",))


def test_words_of_a_sentence_consist_of_letters_and_apostrophes(tmp_path: Path) -> None:
    line = "7\tAt 9 o'clock, 'Élan' (the dog's) _____ well-known _foe_.\tp\tq\tr-r\ts\tt\tc\n"
    words = ("At", "o'clock", "Élan", "the", "dog's", "well", "known", "foe")
    task = read_task(written(tmp_path, HEADER + line))
    assert task == Completion("set", (Question(words, ("p", "q", "r-r", "s", "t"), 2),))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "set.txt is empty"),
        ("\n \n", "set.txt is empty"),
        ("only three words\n", "line 1: 'only three words' is not two words and a score"),
        (
            "a\tb\t1\n\na\tb\n",
            "line 3: .* is not two words and a score separated by tabs: correct",
        ),
        ("a\tb\tmuch\n", "line 1: .* is not two words and a score"),
        ("a\tb\tnan\n", "line 1: .* is not two words and a finite score"),
        ("a b c d\na b c\n", "line 2: 'a b c' is not four words"),
        (": family\n", "line 1: ': family' is not followed by a question"),
        (HEADER, "line 1: .* is not followed by a question"),
        (HEADER + "1\tno blank\ta\tb\tc\td\te\ta\n", "line 2: .* is not 8 tab-separated fields"),
        (HEADER + "1\ta _____\ta\tb\tc\td\ta\n", "line 2: .* is not 8 tab-separated fields"),
        (HEADER + "1\ta _____\ta\tb\tc\td\te\tf\n", "line 2: .* answer from a to e"),
    ],
)
def test_an_error_names_an_invalid_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_task(written(tmp_path, text))


def test_an_error_names_a_missing_or_non_utf_8_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"gone\.txt cannot be read: No such file"):
        read_task(tmp_path / "gone.txt")
    (tmp_path / "latin.txt").write_bytes(b"\xe9t\xe9\tsummer\t1\n")
    with pytest.raises(DataError, match=r"latin\.txt is not UTF-8: save the file as UTF-8"):
        read_task(str(tmp_path / "latin.txt"))


@pytest.mark.data
@pytest.mark.skipif("YAKUSU_DATA" not in os.environ, reason="YAKUSU_DATA is not set")
def test_published_sets_have_the_documented_number_of_items() -> None:
    sizes = {"mc30": 30, "rg65": 65, "ws353": 353, "men3k": 3000, "simlex999": 999, "scws": 2003}
    for name, size in sizes.items():
        task = read_task(DATA / "wordsim" / f"{name}.tsv")
        assert isinstance(task, Similarity) and len(task.pairs) == len(task.scores) == size
    google = read_task(DATA / "analogy" / "questions-words.txt")
    parts = google.score({}, np.eye(2)).parts
    assert [(part.name, part.left_out) for part in parts[:2]] == [
        ("semantic", 8869),
        ("syntactic", 10675),
    ]
    assert len(parts) == 2 + 14
    microsoft = read_task(DATA / "analogy" / "msr.txt")
    assert isinstance(microsoft, Analogy) and len(microsoft.questions) == 8000
    holmes = read_task(DATA / "sentcomp" / "questions.tsv")
    assert isinstance(holmes, Completion) and len(holmes.questions) == 1040
    with pytest.raises(DataError, match="line 1"):
        read_task(DATA / "wordsim" / "scws_context.tsv")
