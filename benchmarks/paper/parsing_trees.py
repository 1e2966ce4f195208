"""Files of trees for parsing_f1.py: parts of the corpora, parses by models, and their scores."""

import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from nltk.tree import Tree

import yakusu
from benchmarks.bootstrap import Floats, interval, resampled
from yakusu.data.brackets import UNTAGGED, delinearise
from yakusu.data.files.text import windows
from yakusu.data.files.tree_files import tree_files
from yakusu.data.trees import read_trees, tags_of, tree_line, words_of
from yakusu.folder import sha256, write_text
from yakusu.metrics import Score
from yakusu.tasks.evalb import DELETED, compare_trees, total
from yakusu.translator.folder.folder import model_hash

BLOCK = 500  # sentences in a file of parses, which is written completely or not at all
LABELS = ("NP", "VP", "S", "PP", "SBAR")  # of right-branching trees


@dataclass(frozen=True)
class Trees:
    """Files of trees.

    gold, half: Gold trees to train on, and the first half of them.
    choosing, reporting: Parts of the gold dev set.
    gum, gum_dev: GUM's automatically parsed trees.
    """

    gold: Path
    half: Path
    choosing: Path
    reporting: Path
    gum: Path
    gum_dev: Path

    @classmethod
    def of(cls, data: Path, folder: Path, n_choosing: int) -> "Trees":
        """Write the parts to a folder; the first `n_choosing` trees of dev are for choosing."""
        folder.mkdir(parents=True, exist_ok=True)
        gold, gum = data / "treebank", data / "gum_const"
        train, dev = (list(read_trees([gold / f"{part}.mrg"])) for part in ("train", "dev"))
        parts = {
            "half": train[: len(train) // 2],
            "choosing": dev[:n_choosing],
            "reporting": dev[n_choosing:],
        }
        for name, trees in parts.items():
            write_lines(folder / f"{name}.mrg", map(tree_line, trees))
        return cls(
            gold=gold / "train.mrg",
            gum=gum / "train.mrg",
            gum_dev=gum / "dev.mrg",
            **{name: folder / f"{name}.mrg" for name in parts},
        )


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write a file of trees completely or not at all."""
    write_text(path, "".join(f"{line}\n" for line in lines))


def parsed(model: Path, trees: Path) -> Path:
    """Parse the words of a file of trees; call it again to resume.

    Returns:
        The folder of the parses, which is next to the model and named after the hashes of the
        model and of the file, so that each model parses a file once.
    """
    name = f"{trees.parent.name}-{trees.stem}-{sha256(trees)[:12]}"
    folder = model.parent / "parses" / model_hash(model)[:12] / name
    folder.mkdir(parents=True, exist_ok=True)
    parser = yakusu.Translator.load(model)
    for number, block in enumerate(windows(read_trees([trees]), BLOCK)):
        path = folder / f"{number:04}.mrg"
        if not path.exists():
            write_lines(path, parser.translate(" ".join(words_of(tree)) for tree in block))
    return folder


def write_parses(model: Path, trees: Path, path: Path) -> None:
    """Write the parses of the words of a file of trees, for training.

    Sentences without a parse, for which the parser returns a tree without tags, are left out.
    """
    parses = map(tree_line, read_trees(tree_files(parsed(model, trees))))
    write_lines(path, (parse for parse in parses if f"({UNTAGGED} " not in parse))


# ---- scores --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Scored:
    """Parses compared with the true trees.

    scores: Labelled F1, precision, recall and exact match.
    resamples: F1 of resamples of the sentences (`benchmarks.bootstrap`), (B,).
    """

    scores: list[Score]
    resamples: Floats

    @classmethod
    def of(cls, parses: Path, trees: Path) -> "Scored":
        """Score the parses of a file or folder."""
        made, truth = (list(read_trees(tree_files(place))) for place in (parses, trees))
        matches = compare_trees(made, truth)
        counts = np.array([(2 * m.matched, m.predicted + m.true) for m in matches])
        part, whole = resampled(counts).T  # (B,), (B,)
        return cls(total(matches).scores(), np.asarray(100 * part / np.maximum(whole, 1)))

    @property
    def f1(self) -> float:
        """Labelled F1 in percent."""
        return self.scores[0].value

    @property
    def interval(self) -> list[float]:
        """The 95% bootstrap interval of F1."""
        return _rounded(self.resamples)

    def over(self, other: "Scored") -> list[float]:
        """The 95% bootstrap interval of the difference from another system's F1."""
        return _rounded(self.resamples - other.resamples)

    def __str__(self) -> str:
        return "; ".join(map(str, self.scores))


def _rounded(resamples: Floats) -> list[float]:
    return [round(bound, 2) for bound in interval(resamples)]


# ---- the baseline --------------------------------------------------------------------------------


def right_branching(tree: Tree, label: str) -> str:
    """Return the right-branching tree of a tree's words.

    Each word except the last and except punctuation opens a constituent that reaches to the end:
    first S, then `label`.
    """
    opening = [tag not in DELETED for tag in tags_of(tree)]
    last = max((i for i, opens in enumerate(opening) if opens), default=0)
    tokens, labels = list[str](), list[str]()
    for i, opens in enumerate(opening):
        if not labels or (opens and i < last):
            labels.append(label if labels else "S")
            tokens.append(f"({labels[-1]}")
        tokens.append(UNTAGGED)
    return delinearise([*tokens, *(f"){name}" for name in labels[::-1])], words_of(tree))


def baseline(label: str, trees: Path) -> Scored:
    """Score right-branching trees with a label."""
    with tempfile.NamedTemporaryFile("w", suffix=".mrg") as file:
        file.writelines(f"{right_branching(tree, label)}\n" for tree in read_trees([trees]))
        file.flush()
        return Scored.of(Path(file.name), trees)


def best_label(trees: Path, labels: Sequence[str] = LABELS) -> str:
    """Return the label with which right-branching trees score best."""
    return max(labels, key=lambda label: baseline(label, trees).f1)
