"""How often the native engine calls Python per step of a search, for each kind of sentence.

Counts are the same on every machine and in every run, so they are printed and not recorded. The
model is untrained; its vocabulary has placeholder tokens and bytes. Each sentence is searched
alone, and a step decodes one position of all of its hypotheses.

    python -m benchmarks.speed.python_calls
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import torch

from yakusu import Request
from yakusu.data.coverage import Coverage
from yakusu.data.tokenizer import Tokenizer
from yakusu.data.vocabulary import TokenizerConfig
from yakusu.engine.decoder import NativeDecoder
from yakusu.engine.guide import Guides
from yakusu.engine.library import MatrixFormat
from yakusu.engine.model import NativeModel
from yakusu.engine.session import Session
from yakusu.model.config import TransformerConfig
from yakusu.model.transformer import Transformer
from yakusu.pipeline.demo.phrasebook import phrasebook
from yakusu.search.config import SamplingConfig, SearchConfig
from yakusu.translator import Translator

SEARCHES = {
    "default": {},
    "n-best": {"n_best": 4},
    "length limits": {"max_length": 12, "max_extra": 3},
    "repetition limits": {"max_repeats": 1, "no_repeat_ngram": 2},
    "all": {"n_best": 4, "max_length": 12, "max_repeats": 1, "no_repeat_ngram": 2},
}
SAMPLES = {"sampling": SamplingConfig(seed=1)}
SENTENCES: dict[str, tuple[Request, dict[str, Any]]] = {
    "plain": (Request("der Hund und das Buch"), {}),
    "placeholders": (Request("der Hund {name} und https://example.org/a"), {}),
    "placeholders and unseen characters": (Request("der Hund {name} und 鳥 犬 das Buch"), {}),
    "placeholders and a prefix": (Request("der Hund {name} und das Buch", prefix="ø"), {}),
    "phrases to include": (Request("der Hund und das Buch", include=("the dog",)), {}),
    "samples": (Request("der Hund und das Buch"), SAMPLES),
}


def untrained() -> Translator:
    """A translator that generates placeholder tokens and bytes."""
    pairs = phrasebook("de", n_pairs=1000).train[:200]
    sides = [[pair[side] for pair in pairs] for side in (0, 1)]
    config = TokenizerConfig(vocab_size=400, character_coverage=0.99)
    tokenizer = Tokenizer.train(*sides, config, seed=1)
    source, target = ("".join(sorted({*"".join(side)})) for side in sides)
    tokenizer.coverage = Coverage(
        source_characters=source, target_characters=target, longest_source=12
    )
    torch.manual_seed(3)
    sizes = tokenizer.vocab_sizes
    small = TransformerConfig(n_layers=1, d_model=16, d_ff=32, n_heads=2, tied="none")
    weights = {
        name: w.detach().numpy() for name, w in Transformer(small, **sizes).weights().items()
    }
    decoder = NativeDecoder([NativeModel(small, weights, **sizes, matrices=MatrixFormat.FLOAT32)])
    return Translator(decoder, tokenizer, languages=("de", "en"), search=SearchConfig())


@contextmanager
def counted() -> Iterator[dict[str, int]]:
    """The numbers of steps and of calls into Python of the sessions that are created meanwhile."""
    found = {"steps": 0, "calls": 0}
    kept, advance = Guides._kept, Session.advance

    def counted_function(guides: Guides, function: Any) -> Any:
        called = kept(guides, function)

        def count(*args: int) -> None:
            found["calls"] += 1
            called(*args)

        return count

    def one_step(session: Session) -> Any:
        found["steps"] += 1
        return advance(session, 0)

    with (
        patch.object(Guides, "_kept", counted_function),
        patch.object(Session, "advance", one_step),
    ):
        yield found


def calls_per_step(request: Request, search: dict[str, Any]) -> float:
    """The calls into Python while a sentence is translated."""
    with counted() as found:
        translator = untrained().with_settings(search=SearchConfig.model_validate(search))
        list(translator.stream([request], batch=1))
    return found["calls"] / found["steps"]


def main() -> None:
    """Print a row for each kind of sentence and a column for each kind of search."""
    print(f"{'calls into Python per step':36}", *(f"{name:>18}" for name in SEARCHES))
    for name, (request, own) in SENTENCES.items():
        rates = [calls_per_step(request, {**search, **own}) for search in SEARCHES.values()]
        print(f"{name:36}", *(f"{rate:18.2f}" for rate in rates))


if __name__ == "__main__":
    main()
