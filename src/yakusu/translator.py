"""Text -> tokens -> search -> text: the translator and its folder.

config.json         task, sizes of the model, languages, search settings
model.safetensors   weights
tokenizer.model     or source.model and target.model
receipt.json        provenance and cost of training; README.md is the model card
manifest.json       sizes and SHA-256 of these files
"""

import logging
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count, starmap
from pathlib import Path
from types import MappingProxyType
from typing import Literal

import torch
from pydantic import ValidationError

from yakusu.config import Config
from yakusu.data.batches import pad
from yakusu.data.corpus import aligned
from yakusu.data.text import Pair, windows
from yakusu.data.tokenizer import Tokenizer
from yakusu.device import pick_device
from yakusu.errors import DataError, ModelError
from yakusu.folder import save_folder, verify_folder, write_json
from yakusu.model.architectures import build
from yakusu.model.base import SearchModel, Seq2Seq
from yakusu.model.coded_tables import CodedTablePlan, IntegerTablePlan
from yakusu.model.config import AnyConfig
from yakusu.model.ensemble import Ensemble
from yakusu.model.linear import SOURCE_MULTIPLE
from yakusu.scoring import Scored, Scorer
from yakusu.search import Hypothesis, SearchConfig, beam_search, length_penalty
from yakusu.tasks.task import tasks
from yakusu.weights import Tensors, from_int8, from_streams, load_tensors, save_tensors

_log = logging.getLogger(__name__)
_WINDOW_BATCHES = 32  # batches read ahead and sorted by length


AnyTablePlan = CodedTablePlan | IntegerTablePlan


class TranslatorConfig(Config):
    """config.json of a model folder."""

    task: Literal["translation", "parsing"] = "translation"  # missing in older folders
    source_language: str  # "" if unknown
    target_language: str
    src_vocab_size: int
    tgt_vocab_size: int
    model: AnyConfig
    compressed: list[AnyTablePlan] = []  # noqa: RUF012  (pydantic copies it)
    search: SearchConfig


@dataclass(frozen=True)
class Translation:
    """One of the best translations of a sentence."""

    text: str
    score: float  # log-probability / length penalty; -inf: not produced by the model
    n_tokens: int  # including eos


class Translator:
    """Translates text with a model and its tokenizer.

    Args:
        model: A model or an ensemble; it is moved to `device` and set to evaluation mode.
        tokenizer: The tokenizer that the model was trained with.
        languages: Codes of the source and target languages, "" if unknown.
        search: Beam size, length penalty, maximum length and number of translations.
        task: The task of the model, by its name in `tasks`.
        device: Device to translate on.
        max_source_tokens: Maximum number of source tokens, including eos. Longer sentences are
            truncated, with a warning; a parser returns a flat tree for them instead.
    """

    def __init__(
        self,
        model: SearchModel,
        tokenizer: Tokenizer,
        *,
        languages: tuple[str, str],
        search: SearchConfig,
        task: str = "translation",
        device: torch.device | str = "cpu",
        max_source_tokens: int = 1024,
    ) -> None:
        self.model = model.to(device).eval()
        self.tokenizer, self.languages, self.search = tokenizer, languages, search
        self.task_name, self.task = task, tasks[task]()
        self.device = torch.device(device)
        self.max_source_tokens = min(max_source_tokens, model.max_length)

    @classmethod
    def load(
        cls,
        folder: str | Path,
        *,
        ensemble: Sequence[str | Path] = (),
        device: torch.device | str = "cpu",
    ) -> "Translator":
        """Open a model folder and verify its files.

        Args:
            folder: A model folder; its languages and search settings are used.
            ensemble: Further model folders with the same vocabulary, for an ensemble (Table 2).
            device: Device to translate on.

        Raises:
            ModelError: A folder is incomplete or corrupted, or has a different vocabulary.
        """
        place = pick_device(str(device))
        config, first, tokenizer = _open(Path(folder))
        members = [first]
        for other in ensemble:
            _, model, other_tokenizer = _open(Path(other))
            if other_tokenizer != tokenizer:
                raise ModelError(
                    f"the vocabulary of {other} differs from that of {folder}: train the models of "
                    "an ensemble on the same text with the same tokenizer settings"
                )
            members.append(model)
        return cls(
            Ensemble(members) if ensemble else first,
            tokenizer,
            languages=(config.source_language, config.target_language),
            search=config.search,
            task=config.task,
            device=place,
        )

    def config(self, *, compressed: Sequence[AnyTablePlan] = ()) -> TranslatorConfig:
        """The config.json of a translator with a single model.

        Args:
            compressed: Plans of the model's compressed tables.
        """
        if not isinstance(self.model, Seq2Seq):
            raise ModelError("an ensemble cannot be saved: save its members separately")
        return TranslatorConfig.model_validate(
            {
                "task": self.task_name,
                "source_language": self.languages[0],
                "target_language": self.languages[1],
                "src_vocab_size": self.model.src_vocab_size,
                "tgt_vocab_size": self.model.tgt_vocab_size,
                "model": self.model.config,
                "compressed": list(compressed),
                "search": self.search,
            }
        )

    def translate(self, sentences: Iterable[str]) -> list[str]:
        """The best translation of each sentence."""
        return [best[0].text for best in self.stream(sentences)]

    def stream(
        self, sentences: Iterable[str], *, batch: int = 64, window: int | None = None
    ) -> Iterator[list[Translation]]:
        """Translate sentences in order, as they arrive.

        The result does not depend on `batch`, `window` or the other sentences.

        Args:
            sentences: One sentence per item. The translation of an empty sentence is empty, with
                score 0.
            batch: Number of sentences translated together.
            window: Number of sentences read ahead and grouped by length; None: 32 batches.

        Yields:
            The `search.n_best` best translations of each sentence, best first.

        Raises:
            DataError: A sentence is not valid for the task, such as a tree given to a parser.
        """
        if isinstance(sentences, str):
            raise TypeError("expected several sentences, not one string: pass [sentence]")
        n_read, window = 0, _WINDOW_BATCHES * batch if window is None else window
        for lines in windows(iter(sentences), window):
            ids = [self._cut(*sentence) for sentence in self._read(lines, n_read + 1)]
            n_read += len(lines)
            results = [[self._without_model(line)] for line in lines]
            order = sorted(
                (i for i in range(len(ids)) if len(ids[i]) > 1), key=lambda i: len(ids[i])
            )
            for rows in windows(iter(order), batch):
                found = self._batch([lines[i] for i in rows], [ids[i] for i in rows])
                for row, best in zip(rows, found, strict=True):
                    results[row] = best
            yield from results

    def _read(self, lines: list[str], first: int) -> Iterator[tuple[int, str, list[int]]]:
        """The number of each sentence, counted from `first`, the sentence, and its ids."""
        sources = []
        for number, line in enumerate(lines, start=first):
            try:
                sources.append(self.task.preprocess_source(line))
            except DataError as error:
                raise DataError(f"sentence {number}: {error}") from error
        return zip(count(first), lines, self.tokenizer.encode_source(sources))

    def _without_model(self, line: str) -> Translation:
        """The output for a sentence that is not passed to the model."""
        text = self.task.postprocess("", line)
        return Translation(text, -math.inf if text else 0.0, 0)

    def _cut(self, number: int, line: str, ids: list[int]) -> list[int]:
        """The ids of a sentence, truncated to `max_source_tokens`; only eos if it is skipped."""
        most = self.max_source_tokens
        if len(ids) <= most:
            return ids
        # Part of a sentence can be translated, but a tree must cover all words.
        skipped = bool(self._without_model(line).text)
        result = "gets a flat tree" if skipped else "is truncated"
        message = "sentence %d ('%s...') has %d tokens, more than %d, and %s: split it"
        _log.warning(message, number, line[:40], len(ids), most, result)
        return [*([] if skipped else ids[: most - 1]), ids[-1]]

    def hypotheses(self, lines: list[str], ids: list[list[int]]) -> list[list[Hypothesis]]:
        """The best translations of sentences, as ids.

        Args:
            lines: The sentences.
            ids: The source ids of each, ending with eos, at most `max_source_tokens`.
        """
        src = pad(ids, self.model.src_pad, multiple=SOURCE_MULTIPLE)
        src = src[:, : self.model.max_length].to(self.device)  # (B, S)
        constraint = self.task.constraint(
            self.tokenizer, lines, n_beams=self.search.beam, device=self.device
        )
        return beam_search(self.model, src, self.search, constraint=constraint)

    def _batch(self, lines: list[str], ids: list[list[int]]) -> list[list[Translation]]:
        return [
            [
                Translation(self.task.postprocess(output, line), h.score, len(h.tokens) + 1)
                for output, h in zip(
                    self.tokenizer.decode_target([h.tokens for h in best]), best, strict=True
                )
            ]
            for line, best in zip(lines, self.hypotheses(lines, ids), strict=True)
        ]

    def score(
        self,
        sources: Iterable[str],
        targets: Iterable[str],
        *,
        alternatives: int = 0,
        batch: int = 64,
        window: int | None = None,
    ) -> Iterator[Scored]:
        """Compute the probability of a given target for each source, in order, as they arrive.

        The result does not depend on `batch`, `window` or the other pairs. The tokenizer splits a
        target into tokens; characters that the vocabulary does not cover are scored as the unknown
        token. An empty target is only the end of the sentence.

        Args:
            sources: One sentence per item.
            targets: The target of each sentence.
            alternatives: Number of most probable tokens to return for each position.
            batch: Number of pairs scored together.
            window: Number of pairs read ahead and grouped by length; None: 32 batches.

        Raises:
            DataError: There are more sources than targets or fewer, a sentence or a target is not
                valid for the task, or it has too many tokens: at most `max_source_tokens`, and
                `search.max_extra` more in a target. Nothing is truncated.
        """
        if isinstance(sources, str) or isinstance(targets, str):
            raise TypeError("expected several sentences, not one string: pass [sentence]")
        longest = self.max_source_tokens, self.max_source_tokens + self.search.max_extra
        penalty = partial(length_penalty, alpha=self.search.alpha)
        scorer = Scorer(self.model, self.tokenizer, max_tokens=longest, penalty=penalty)
        pairs = aligned(sources, targets, names=("the sources", "the targets"))
        n_read, window = 0, _WINDOW_BATCHES * batch if window is None else window
        for some in windows(pairs, window):
            texts = list(starmap(self._pair, enumerate(some, start=n_read + 1)))
            yield from scorer.score(texts, n_read + 1, alternatives=alternatives, batch=batch)
            n_read += len(some)

    def _pair(self, number: int, pair: Pair) -> Pair:
        """The texts of a pair that the vocabularies encode."""
        source, target = (line.strip() for line in pair)
        try:
            source = self.task.preprocess_source(source)
            return source, self.task.preprocess_target(target) if target else ""
        except DataError as error:
            raise DataError(f"line {number}: {error}") from error


def _open(folder: Path) -> tuple[TranslatorConfig, Seq2Seq, Tokenizer]:
    """Verify and read a model folder."""
    if (folder / "model" / "manifest.json").exists():
        raise ModelError(f"{folder} is a run folder: use its model, {folder / 'model'}")
    verify_folder(folder)
    try:
        text = (folder / "config.json").read_text(encoding="utf-8")
        config = TranslatorConfig.model_validate_json(text)
        sizes = {"src_vocab_size": config.src_vocab_size, "tgt_vocab_size": config.tgt_vocab_size}
        model = build(config.model, **sizes)
        for plan in config.compressed:
            plan.put(model, plan.empty(model))
        weights = load_tensors(folder / "model.safetensors")
        model.load_weights(from_streams(from_int8(weights)))
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"]))
        message = first["msg"].removeprefix("Value error, ")
        raise ModelError(f"{folder}/config.json is invalid: {key}: {message}") from error
    except (OSError, ValueError, RuntimeError) as error:
        raise ModelError(f"{folder} is inconsistent: {error}") from error
    return config, model, Tokenizer.load(folder)


def save_translator(
    folder: Path,
    weights: Tensors,
    tokenizer: Tokenizer,
    config: TranslatorConfig,
    *,
    documents: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Write a model folder atomically.

    Args:
        folder: Path of the new folder.
        weights: The weights of the model; matrices may be int8 rows.
        tokenizer: The tokenizer that the model was trained with.
        config: Task, sizes, languages and search settings.
        documents: Contents of further text files, by file name.
    """

    def fill(temporary: Path) -> None:
        write_json(temporary / "config.json", config.model_dump())
        save_tensors(temporary / "model.safetensors", weights)
        tokenizer.save(temporary)
        for name, text in documents.items():
            (temporary / name).write_text(text, encoding="utf-8")

    save_folder(folder, fill)
