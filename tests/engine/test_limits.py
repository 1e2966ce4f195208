"""Beyond the limits of the native engine: 2,048 positions, and 255 proposals per step."""

from collections.abc import Sequence
from random import Random

import numpy as np
import pytest
import torch

from tests.cases import THOROUGH, some
from tests.engine.test_search import V, native, sentence
from tests.search.test_phrases import ToyTokenizer, has_form, text_of
from tests.translators import ENGINES, Engine, decoder_of, sharpened, untrained
from yakusu.arrays import Flags, Longs
from yakusu.data.lines.config import TextConfig
from yakusu.data.vocabulary import EOS, UNK
from yakusu.engine.library import PROPOSALS
from yakusu.engine.model import N_POSITIONS
from yakusu.errors import DataError
from yakusu.model.base import Seq2Seq
from yakusu.model.config import TransformerConfig
from yakusu.model.ensemble import Ensemble
from yakusu.model.transformer import Transformer
from yakusu.search.config import SearchConfig
from yakusu.search.decoder import Decoder, Query
from yakusu.search.phrases import phrase_constraint
from yakusu.search.restrictions import Restrictions
from yakusu.search.spelling import Phrase, PhraseVocabulary
from yakusu.search.tokens import TokenRules
from yakusu.search.torch_decoder import TorchDecoder
from yakusu.translator import Translator

RULES = TokenRules(V - 1)


def model_of(vocab_size: int = V, **config: object) -> Seq2Seq:
    torch.manual_seed(5)
    sizes = {"src_vocab_size": vocab_size, "tgt_vocab_size": vocab_size}
    config |= {"n_layers": 1, "d_model": 16, "d_ff": 32, "n_heads": 2, "tied": "none"}
    model = Transformer(TransformerConfig.model_validate(config), **sizes)
    return sharpened(model).eval()


POSITIONS = ["sinusoidal", "learned"]


@pytest.fixture(params=POSITIONS)
def model(request: pytest.FixtureRequest) -> Seq2Seq:
    """A model that torch runs for more than 2,048 positions."""
    if request.param == "learned":
        return model_of(positions="learned", max_positions=4096)
    return model_of()


class Endless:
    """Allows eos at the maximum length only."""

    def allowed(self, left: Longs) -> Flags:
        flags = np.ones((len(left), V - 1), dtype=np.bool_)
        flags[:, EOS] = left <= 1
        return flags

    def follow(self, beams: Longs, ids: Longs) -> None:
        pass


def longest(decoder: Decoder, source: Sequence[int], max_length: int) -> tuple[int, ...]:
    """The longest translation of a sentence, as ids."""
    config = SearchConfig(beam=1, max_extra=4000, max_length=max_length, max_repeats=0)
    query = Query(source, (), Restrictions(RULES, [Endless()]))
    ((best,),) = decoder.search([query], config, RULES, batch=1)
    assert np.isfinite(best.log_prob)
    return best.tokens


@pytest.mark.parametrize("model", some(POSITIONS), indirect=True)
def test_a_translation_ends_at_position_2048_with_the_tokens_that_torch_prefers(
    model: Seq2Seq,
) -> None:
    source = sentence(Random(1))
    found = longest(native(model), source, 4000)
    assert len(found) + 1 == N_POSITIONS == 2048
    if THOROUGH:
        assert found == longest(TorchDecoder(model), source, N_POSITIONS - 1)
    # All positions at once: torch takes ten times as long for 2,048 steps.
    (scored,) = TorchDecoder(model).score([(source, [*found, EOS])], alternatives=3, batch=1)
    for token, alternatives in zip(found, scored.alternatives[:-1], strict=True):
        assert token == next(best for best, _ in alternatives if best not in (EOS, UNK))


def test_targets_and_sources_of_2048_tokens_are_scored_as_by_torch(model: Seq2Seq) -> None:
    rng = Random(2)
    long = [*(rng.randrange(4, V - 1) for _ in range(N_POSITIONS - 1)), EOS]
    ours, theirs = (
        decoder.score([(long, long)], alternatives=0, batch=1)[0].token_log_probs
        for decoder in (native(model), TorchDecoder(model))
    )
    assert ours == pytest.approx(theirs, abs=1e-4)


@pytest.mark.parametrize("engine", ENGINES)
def test_sentences_longer_than_a_model_allows_are_refused_in_every_ensemble(engine: Engine) -> None:
    long, short = model_of(), model_of(positions="learned", max_positions=20)
    others = [[short], [short, long], [long, short]]
    for models in others:
        decoder = native(*models) if engine == "native" else TorchDecoder(Ensemble(models))
        fits, longer = [*[5] * 19, EOS], [*[5] * 20, EOS]
        config = SearchConfig(beam=1, max_extra=4)
        ((found,),) = decoder.search([Query(fits)], config, RULES, batch=2)
        assert len(found.tokens) <= 19
        with pytest.raises(DataError, match="a source has 21 tokens, more than the maximum of the"):
            decoder.search([Query(longer)], config, RULES, batch=2)
        assert len(decoder.score([(fits, fits)], alternatives=0, batch=2)[0].token_log_probs) == 20
        for side, pair in ("source", (longer, fits)), ("target", (fits, longer)):
            with pytest.raises(DataError, match=f"a {side} has 21 tokens, more than the maximum"):
                decoder.score([pair], alternatives=0, batch=2)


def with_search(engine: Engine, **search: int) -> Translator:
    """A translator of sentences, without division into shorter ones."""
    one = untrained("bytes", engine=engine)
    return Translator(
        one.decoder,
        one.tokenizer,
        languages=one.languages,
        search=SearchConfig.model_validate(search),
        text=TextConfig(one_sentence_per_line=True),
    )


@pytest.mark.parametrize("engine", ENGINES)
def test_a_line_of_5000_words_is_truncated_with_one_warning(
    engine: Engine, caplog: pytest.LogCaptureFixture
) -> None:
    one = with_search(engine, max_length=4)
    words = ["der", "Hund", "und", "das", "Buch"] * 1000
    (found,) = one.translate([" ".join(words)])
    (warning,) = caplog.messages
    assert warning.startswith("sentence 1 ('der Hund und das Buch der Hund und das B...') has ")
    assert warning.endswith(" tokens, more than 1,024, and is truncated: split it")
    other = "torch" if engine == "native" else "native"
    assert [found] == with_search(other, max_length=4).translate([" ".join(words)])


def test_a_target_of_more_than_2048_tokens_is_not_scored_natively() -> None:
    one = with_search("native", max_extra=3000)
    with pytest.raises(DataError) as refused:
        list(one.score(["der Hund"], ["the dog " * 1500]))
    said = str(refused.value)
    assert said.startswith("line 1: the target has ")
    assert said.endswith(" tokens, more than the maximum of 2,048: split the sentence")


def test_all_phrases_occur_if_more_than_255_tokens_are_proposed() -> None:
    words = [first + second for first in "bcdfghjk" for second in "aeiouxyz"][:43]
    forms = [form for word in words for form in (word, word.capitalize(), word.upper())]
    tokenizer = ToyTokenizer(["▁", *forms, *(f"▁{form}" for form in forms)])
    phrases = [Phrase(word, capitals=True) for word in words]
    vocabulary, rules = PhraseVocabulary(tokenizer), TokenRules(tokenizer.tgt_vocab_size - 1)

    def restrictions() -> Restrictions:
        return Restrictions(rules, [phrase_constraint(vocabulary, phrases, [])])

    assert restrictions().proposals().shape[1] >= PROPOSALS
    model = model_of(tokenizer.tgt_vocab_size)
    for engine in ENGINES:
        config = SearchConfig(beam=1, max_extra=200)
        ((best,),) = decoder_of(model, engine).search(
            [Query([5, 6, EOS], (), restrictions())], config, rules, batch=1
        )
        assert np.isfinite(best.log_prob)
        assert all(has_form(phrase, text_of(tokenizer, best.tokens)) for phrase in phrases)
