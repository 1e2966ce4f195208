"""Generated inputs for --quick, in the layout of the real ones: corpora, trees, test sets, vectors.

They exercise the same code as the real data. Scores on them mean nothing.
"""

import random
from pathlib import Path

import numpy as np

import yakusu
from yakusu.progress import Silent

SETTINGS = (
    "tokenizer.vocab_size=110",
    "tokenizer.byte_fallback=false",
    "tokenizer.placeholder_share=0",
    "search.max_extra=5",
)  # of every translation recipe
_SUBJECTS = ("a man", "a woman", "the child", "two dogs", "a tall girl", "the old painter")
_VERBS = ("sees", "paints", "finds", "carries", "throws", "follows")
_OBJECTS = ("a red ball", "the green house", "some bread", "a bicycle", "the water", "a blue hat")
_PLACES = ("in the park", "near the river", "on a street", "at home", "under a tree")
_WIDTH, _N_WORDS = 24, 400


def write_data(folder: Path) -> None:
    """Write every corpus and test set that a benchmark reads."""
    rng = random.Random(1)
    for corpus, others, parts in (
        ("multi30k", ("de", "fr"), {"train": 400, "val": 20, "test2016": 24, "test2017": 24}),
        ("enja", ("ja",), {"train": 400, "dev": 20, "test": 24}),
        ("tatoeba/en-de", ("de",), {"train": 400, "dev": 20, "test": 24}),
    ):
        for part, n in parts.items():
            _write_parallel(folder / corpus / part, others, n, rng)
    for part, n in {"train": 400, "val": 20}.items():
        for language in ("en", "de"):
            _write(folder / "letters" / f"{part}.{language}", [_letters(rng) for _ in range(n)])
    sizes = {"treebank/train": 60, "treebank/dev": 5, "gum_const/train": 60, "gum_const/dev": 5}
    for name, n in sizes.items():
        _write(folder / f"{name}.mrg", [_tree(rng) for _ in range(n)])
    for part, n in {"train": 400, "dev": 20, "test": 24}.items():
        _write_parallel(folder / "tatoeba" / "en-fr" / part, ("fr",), n, rng)
    for part, n in {"newstest2009-2012": 400, "newstest2013": 20}.items():
        _write_parallel(folder / "wmt" / part, ("de",), n, rng)
    _write_word_tasks(folder)


def write_vectors(path: Path) -> None:
    """Write vectors of the generated words to an .npz file."""
    words = [*_vocabulary(), *(f"w{i}" for i in range(_N_WORDS - len(_vocabulary())))]
    scales = np.logspace(0, -1, _WIDTH)
    vectors = np.random.default_rng(1).standard_normal((len(words), _WIDTH)) * scales
    np.savez(path, words=np.array(words), vectors=vectors.astype(np.float32))


def train_model(data: Path, run: Path) -> Path:
    """Train a translator for a few steps and return its model folder."""
    corpus = data / "multi30k"
    recipe = yakusu.load_recipe(
        Path(__file__).parent / "recipes" / "multi30k.toml",
        [
            f'run="{run}"',
            f'data.train={{src="{corpus / "train.en"}", tgt="{corpus / "train.de"}"}}',
            f'data.dev={{src="{corpus / "val.en"}", tgt="{corpus / "val.de"}"}}',
            "training.max_steps=4",
            "training.validate_steps=4",
            "batches.step_tokens=500",
            "model.n_layers=1",
            *SETTINGS,
        ],
    )
    return yakusu.train(recipe, progress=Silent()).model


def _sentence(rng: random.Random) -> str:
    return " ".join(map(rng.choice, (_SUBJECTS, _VERBS, _OBJECTS, _PLACES)))


def _letters(rng: random.Random) -> str:
    """Words of any letters, which need more pieces than the sentences."""
    return " ".join("".join(rng.choices("abdegilmnorstu", k=rng.randint(2, 6))) for _ in range(8))


def _write(path: Path, lines: list[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _write_parallel(path: Path, others: tuple[str, ...], n: int, rng: random.Random) -> None:
    """Write English sentences, and as their translations the same words reversed."""
    sentences = [_sentence(rng) for _ in range(n)]
    _write(path.with_suffix(".en"), sentences)
    for other in others:
        _write(path.with_suffix(f".{other}"), [" ".join(s.split()[::-1]) for s in sentences])


def _tree(rng: random.Random) -> str:
    subject, object_ = (
        " ".join(f"(NN {word})" for word in rng.choice(choices).split())
        for choices in (_SUBJECTS, _OBJECTS)
    )
    verb = f"(VP (VBZ {rng.choice(_VERBS)}) (NP {object_}))"
    return f"(S (NP {subject}) {verb} (. .))"


def _vocabulary() -> list[str]:
    text = " ".join((*_SUBJECTS, *_VERBS, *_OBJECTS, *_PLACES, "king man woman queen"))
    return list(dict.fromkeys(text.split()))


def _write_word_tasks(folder: Path) -> None:
    from benchmarks.compression.word_tasks import paper_sets, unused_sets

    similarity = [f"w{i}\tw{i + 1}\t{i % 7}" for i in range(30)]
    analogy = [" ".join(f"w{i + j}" for j in range(4)) for i in range(30)]
    choices = "\t".join("abcde")
    completion = [f"id\tquestion\t{choices}\tanswer"] + [
        f"{i}\ta man sees _____ at home .\tw1\tw2\tw3\tw4\tw{i + 5}\te" for i in range(10)
    ]
    for path in (*paper_sets(folder), *unused_sets(folder)):
        match path.name:
            case "questions-words.txt":
                lines = [": capital-common-countries", *analogy, ": gram1-adjective", *analogy]
            case "msr.txt":
                lines = analogy
            case "questions.tsv":
                lines = completion
            case _:
                lines = similarity
        _write(path, lines)
