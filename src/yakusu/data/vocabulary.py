"""Vocabularies: learned from text by SentencePiece.

    eos = 0  unk = 1  languages  placeholder tokens  symbols  bytes  pieces  pad = V - 1  no bos

See docs/decisions/0003. A model with several target languages has a token for each of them, such as
">>de<<", as Marian's have (docs/decisions/0037-several-languages.md).
"""

import io
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Literal

import regex
import sentencepiece as spm

from yakusu import lazy
from yakusu.config import Config, requirement
from yakusu.data.lines.private_use import SLOTS
from yakusu.data.normalization import INVISIBLE, rules
from yakusu.errors import DataError
from yakusu.typed import setting

EOS, UNK = 0, 1
LANGUAGE_TOKEN = re.compile(r">>([\w-]+)<<")
_LONGEST = 2**20  # bytes of a sentence; SentencePiece ignores longer ones
_SHOWN = 20  # characters in a message
_MIN_OCCURRENCES = 2  # of a character with a token of its own
# Letters, marks, digits and punctuation; of writing systems with thousands of characters, only the
# frequent ones have tokens.
_REQUIRED = lazy.compile(r"[\p{L}\p{M}\p{N}\p{P}--\p{Han}\p{Hangul}]", regex.V1)


def _check_symbols(symbols: tuple[str, ...]) -> tuple[str, ...]:
    for symbol in symbols:
        if not symbol or symbol.split() != [symbol] or symbols.count(symbol) > 1:
            raise ValueError(
                f"{symbol!r} cannot be a symbol: symbols are distinct and have no spaces"
            )
    return symbols


class TokenizerConfig(Config):
    """How vocabularies are learned."""

    kind: Literal["bpe", "unigram"] = "bpe"
    vocab_size: int = setting(8000, ge=16, le=2**24)  # of each vocabulary, including special tokens
    joint: bool = True
    target: Literal["text", "tokens"] = "text"  # tokens: separated by white space, never split
    normalization: Literal["nfc", "nfc_cf", "nmt_nfkc", "nmt_nfkc_cf", "identity"] = (
        "nfc"  # _cf: lower case
    )
    split_digits: bool = True  # one token per digit, so that any number can be copied
    character_coverage: float = setting(0.9995, gt=0, le=1)  # the other characters become bytes
    byte_fallback: bool = True  # 256 tokens; false: a rare character becomes the unknown token
    placeholder_share: float = setting(0.1, ge=0, le=1)  # of pairs; 0: no placeholder tokens
    symbols: tuple[str, ...] = setting((), then=_check_symbols)  # never split, such as "<BT>"
    sample_sentences: int = setting(200_000, ge=1)  # per side; limits memory

    @requirement
    def _check_token_target_is_separate(self) -> None:
        if self.joint and self.target == "tokens":
            raise ValueError(
                "tokenizer.target = 'tokens' needs a vocabulary of its own: set tokenizer.joint = "
                "false"
            )

    @property
    def lowercases(self) -> bool:
        """Whether the vocabulary ignores case, so that scores must ignore it too."""
        return self.normalization.endswith("_cf")

    @property
    def reserved(self) -> list[str]:
        """Tokens that are never split: placeholder tokens and symbols."""
        return [*(SLOTS if self.placeholder_share else ()), *self.symbols]

    def normalized(self, sentence: str) -> str:
        """What a sentence becomes, apart from white space and characters that are removed."""
        if self.normalization == "identity":
            return sentence
        form: Literal["NFC", "NFKC"] = "NFC" if self.normalization.startswith("nfc") else "NFKC"
        text = unicodedata.normalize(form, sentence)
        return text.lower() if self.lowercases else text


def learn(
    sentences: Iterable[str],
    config: TokenizerConfig,
    seed: int,
    *,
    side: str,
    languages: Sequence[str] = (),
    warn: Callable[[str], object] | None = None,
) -> spm.SentencePieceProcessor:
    """Learn the pieces of a vocabulary, with a token for each of `languages`.

    `warn` gets a sentence about the characters for which the vocabulary is too small.
    """
    model, given = io.BytesIO(), list(sentences)
    required, rest = required_characters(given, config, n_languages=len(languages))
    if rest and warn:
        warn(_left_out(rest, side, config))
    spm.set_random_generator_seed(seed)
    try:
        spm.SentencePieceTrainer.train(
            sentence_iterator=iter(given),
            model_writer=model,
            model_type=config.kind,
            vocab_size=config.vocab_size - 1,
            max_sentence_length=_LONGEST,
            normalizer=_normalizer(config),
            split_digits=config.split_digits,
            character_coverage=config.character_coverage,
            required_chars=required,
            byte_fallback=config.byte_fallback,
            control_symbols=[f">>{code}<<" for code in languages],
            user_defined_symbols=config.reserved,
            eos_id=EOS,
            unk_id=UNK,
            bos_id=-1,
            pad_id=-1,
            num_threads=4,  # fixed: a unigram vocabulary depends on the number of threads
            minloglevel=2,
        )
    except (RuntimeError, OSError) as error:
        raise DataError(_training_error(str(error), config.vocab_size, side)) from error
    return spm.SentencePieceProcessor(model_proto=model.getvalue())


def _normalizer(config: TokenizerConfig) -> spm.SentencePieceNormalizer:
    """The normalisation, which becomes a part of the model."""
    spm.set_min_log_level(2)  # errors only, as `minloglevel` below
    if config.normalization.startswith("nfc"):
        return spm.SentencePieceNormalizer(norm_map=rules(lower_case=config.lowercases))
    return spm.SentencePieceNormalizer(rule_name=config.normalization)


def required_characters(
    sentences: Iterable[str], config: TokenizerConfig, *, n_languages: int = 0
) -> tuple[str, str]:
    """Choose the characters that have tokens.

    These are the most frequent ones, up to `character_coverage`, and the letters, marks, digits and
    punctuation that occur at least twice, except ideographs and Hangul syllables. If the vocabulary
    cannot hold all of the latter, the rarest are left out.

    Args:
        sentences: The text that the vocabulary is learned from.
        config: How it is learned.
        n_languages: Number of tokens of target languages.

    Returns:
        The chosen characters, and those that are left out, each most frequent first.
    """
    counts = Counter(chain.from_iterable(map(config.normalized, sentences)))
    for character in [*counts]:
        if character.isspace() or (config.normalization != "identity" and _is_removed(character)):
            del counts[character]
    by_count = sorted(counts, key=lambda c: (-counts[c], c))
    frequent, n_covered, total = list[str](), 0, counts.total()
    for character in by_count:
        if n_covered >= config.character_coverage * total:
            break
        frequent.append(character)
        n_covered += counts[character]
    rare = [
        c for c in by_count[len(frequent) :] if counts[c] >= _MIN_OCCURRENCES and _REQUIRED.match(c)
    ]
    n_other = 4 + 256 * config.byte_fallback + n_languages + len(config.reserved)
    room = max(0, config.vocab_size - n_other - len(frequent))
    return "".join([*frequent, *rare[:room]]), "".join(rare[room:])


def _is_removed(character: str) -> bool:
    return character in INVISIBLE or unicodedata.category(character) == "Cc"


def left_out(src: Iterable[str], tgt: Iterable[str], config: TokenizerConfig) -> Iterator[str]:
    """Yield a sentence for each vocabulary that is too small for `required_characters`.

    Args:
        src: The source sentences that it is learned from.
        tgt: The target sentences.
        config: How it is learned.
    """
    sides = {"joint": chain(src, tgt)} if config.joint else {"source": src, "target": tgt}
    if config.target == "tokens":
        sides.pop("target")
    for side, sentences in sides.items():
        _, rest = required_characters(sentences, config)
        if rest:
            yield _left_out(rest, side, config)


def _left_out(characters: str, side: str, config: TokenizerConfig) -> str:
    shown = " ".join(characters[:_SHOWN]) + (" ..." if len(characters) > _SHOWN else "")
    return (
        f"the {side} vocabulary has no room for {len(characters):,} characters that occur at least "
        f"twice ({shown}), which are spelled in bytes: set tokenizer.vocab_size="
        f"{config.vocab_size + len(characters)} or more"
    )


def collect(sentences: Iterable[str], config: TokenizerConfig) -> spm.SentencePieceProcessor:
    """Build a vocabulary of the most frequent tokens, up to `vocab_size`."""
    model = io.BytesIO()
    spm.SentencePieceTrainer.train(
        sentence_iterator=iter(sentences),
        model_writer=model,
        model_type="word",
        vocab_size=config.vocab_size - 1,
        hard_vocab_limit=False,
        max_sentence_length=_LONGEST,
        normalization_rule_name="identity",
        character_coverage=1.0,
        eos_id=EOS,
        unk_id=UNK,
        bos_id=-1,
        pad_id=-1,
        minloglevel=2,
    )
    return spm.SentencePieceProcessor(model_proto=model.getvalue())


def _training_error(message: str, vocab_size: int, side: str) -> str:
    """Convert an error message of SentencePiece into a sentence that names the fix."""
    if found := re.search(r"value <= (\d+)", message):
        largest = int(found[1]) + 1
        return (
            f"the {side} corpus is too small for a vocabulary of {vocab_size:,} tokens: "
            f"add --set tokenizer.vocab_size={largest} or a smaller value"
        )
    if smallest := re.search(r"smaller than required_chars\D{0,40}\d{1,20} vs (\d+)", message):
        return (
            f"the {side} corpus has too many characters for a vocabulary of {vocab_size:,} tokens: "
            f"set tokenizer.vocab_size above {int(smallest[1]) + 1}, lower "
            "tokenizer.character_coverage, or set tokenizer.byte_fallback = false to save 256 "
            "tokens"
        )
    return f"no {side} vocabulary of {vocab_size:,} tokens could be learned: {message}"
