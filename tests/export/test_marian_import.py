"""Models that Marian runs: imported, they have its log-probabilities and its translations."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import yakusu
from tests.export.marians import Marian, pre_norm, sentences, write_npz
from tests.export.test_npz_import import LITERAL
from yakusu.data.vocabulary import EOS, UNK
from yakusu.translator import Translator

pymarian = pytest.importorskip("pymarian", reason="pip install pymarian")

N_SENTENCES = 100
REFUSED = ("~", "null", "NULL")  # keys without quotes, by Marian, which writes quotes
TOLERANCE = 5e-5  # Marian prints five digits after the point
VARIANTS: dict[str, Any] = {
    "swish": Marian(),
    "relu": Marian(config={"activation_function": "relu"}),
    "gelu": Marian(config={"activation_function": "gelu"}),
    "no biases": Marian(bias=False),
    "depths": Marian(config={"encoder_layers": 3, "decoder_layers": 1}),
    "one head": Marian(config={f"{s}_attention_heads": 1 for s in ("encoder", "decoder")}),
    "separate vocabularies": Marian(separate=True, shared=False),
    "separate tables": Marian(shared=False),
    "untied output": Marian(tied=False),
    "three tables": Marian(shared=False, tied=False),
    "language tokens": Marian(tokens=(">>de<<", ">>fr<<")),
}


class Oracle:
    """A folder of Marian's files that Marian runs on one thread."""

    def __init__(self, folder: Path) -> None:
        vocabularies = sorted(folder.glob("*.vocab.yml"))  # "source" precedes "target"
        self._translator = pymarian.Translator(
            models=[str(folder / "model.npz")],
            vocabs=[str(vocabularies[0]), str(vocabularies[-1])],
            beam_size=1,
            cpu_threads=1,
            n_best=True,
            word_scores=True,
            quiet=True,
        )

    def greedy(self, sources: Sequence[str]) -> list[tuple[list[str], list[float]]]:
        """The pieces of translations, and their log-probabilities, with that of eos.

        Translations that Marian ended at its maximum length have no eos.
        """
        found: list[tuple[list[str], list[float]]] = []
        for text in self._translator.translate(list(sources)):
            _, pieces, scores, *_ = text.partition("\n")[0].split(" ||| ")
            found.append((pieces.split(), list(map(float, scores.split("=")[1].split()))))
        return found


def check(folder: Path, tmp_path: Path, *, n_tokens: int | None = None) -> None:
    """Compare the log-probabilities of Marian's greedy translations with an imported model.

    The tokens that Marian chose, which are never <unk>, must be the most probable ones of the
    imported model, up to ties. `n_tokens` are compared; None: all.
    """
    yakusu.import_model(folder, tmp_path / "own", source_language="en", target_language="de")
    translator = Translator.load(tmp_path / "own", engine="torch")
    src, tgt = translator.tokenizer.src, translator.tokenizer.tgt
    sources = translator.tokenizer.encode_source(sentences(0)[:N_SENTENCES])
    lines = [" ".join(map(src.piece, ids[:-1])) for ids in sources]
    greedy = Oracle(folder).greedy(lines)
    translations = [(pieces, scores[:n_tokens]) for pieces, scores in greedy]
    targets = [[*map(tgt.id_of, pieces), EOS][: len(scores)] for pieces, scores in translations]
    pairs = list(zip(sources, targets, strict=True))
    for own, (_, scores) in zip(
        translator.decoder.score(pairs, alternatives=2, batch=16), translations, strict=True
    ):
        best = [max(p for i, p in of_position if i != UNK) for of_position in own.alternatives]
        np.testing.assert_allclose(own.token_log_probs, scores, rtol=0, atol=TOLERANCE)
        np.testing.assert_allclose(own.token_log_probs, best, rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize("name", VARIANTS)
def test_an_imported_model_has_the_log_probabilities_of_marian(name: str, tmp_path: Path) -> None:
    check(VARIANTS[name].write_original(tmp_path / "npz"), tmp_path)


def test_a_pre_norm_model_has_the_first_of_them(tmp_path: Path) -> None:
    # From the second token on, Marian's search reads keys and values without LayerNorm.
    folder = Marian().write_original(tmp_path / "npz")
    write_npz(folder / "model.npz", *pre_norm(Marian()))
    check(folder, tmp_path, n_tokens=1)


def test_a_vocabulary_has_the_keys_that_marian_reads(tmp_path: Path) -> None:
    folder = Marian().write_original(tmp_path / "npz")
    path = folder / "joint.vocab.yml"
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    known = Marian().vocabularies()[0]
    keys = {k: piece for k, piece in LITERAL.items() if k not in REFUSED and piece not in known}
    lines[10 : 10 + len(keys)] = [f"{key}: {10 + i}\n" for i, key in enumerate(keys)]
    path.write_text("".join(lines), encoding="utf-8")
    yakusu.import_model(folder, tmp_path / "own", source_language="en", target_language="de")
    translator, oracle = Translator.load(tmp_path / "own", engine="torch"), Oracle(folder)
    src, tgt = translator.tokenizer.src, translator.tokenizer.tgt
    for piece in keys.values():
        ((pieces, scores),) = oracle.greedy([piece])
        source = [src.id_of(piece), EOS]
        target = [*map(tgt.id_of, pieces), EOS][: len(scores)]
        (own,) = translator.decoder.score([(source, target)], alternatives=0, batch=1)
        assert source[0] != UNK
        np.testing.assert_allclose(own.token_log_probs, scores, rtol=0, atol=TOLERANCE)
