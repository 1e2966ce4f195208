"""Text -> tokens -> search -> text: a translator and the folder it lives in.

config.json         the task, the model's sizes, the languages, how to search
model.safetensors   its weights
tokenizer.model     or source.model and target.model
receipt.json        what it was made from and what it cost; README.md says it to people
manifest.json       sizes and SHA-256 of these
"""

import logging
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from types import MappingProxyType

import torch
from pydantic import TypeAdapter, ValidationError

from yakusu.data.batches import pad
from yakusu.data.text import windows
from yakusu.data.tokenizer import Tokenizer
from yakusu.device import pick_device
from yakusu.errors import DataError, ModelError
from yakusu.folder import json_text, read_json, save_folder, verify_folder, write_json
from yakusu.model.architectures import build
from yakusu.model.base import SearchModel, Seq2Seq
from yakusu.model.coded_tables import CodedTablePlan, IntegerTablePlan, TablePlan
from yakusu.model.config import ModelConfig, config_of
from yakusu.model.ensemble import Ensemble
from yakusu.search import SOURCE_MULTIPLE, Hypothesis, SearchConfig, beam_search
from yakusu.tasks.task import tasks
from yakusu.weights import Tensors, from_int8, from_streams, load_tensors, save_tensors

_plans: TypeAdapter[list[CodedTablePlan | IntegerTablePlan]] = TypeAdapter(
    list[CodedTablePlan | IntegerTablePlan]
)
_log = logging.getLogger(__name__)
_WINDOW_BATCHES = 32  # batches that are read ahead and sorted by length


@dataclass(frozen=True)
class Translation:
    """One of the best translations of a sentence."""

    text: str
    score: float  # log-probability over length penalty; -inf: the model did not say this
    n_tokens: int  # eos counted


class Translator:
    """A model, its tokenizer and how to search.

    Args:
        model: Moved to `device` and set to evaluation.
        tokenizer: The one the model was trained with.
        languages: Codes of source and target, "" where not known.
        search: Beam, length penalty, greatest length.
        task: What the model was taught, by its name in `tasks`.
        device: Where to translate.
        max_source_tokens: Longer sentences are cut, with a warning; where the task has an answer
            to silence, a parser's flat tree, they are answered by that.
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
        """Open a model folder after checking it.

        Args:
            folder: A model; its languages and its way to search hold.
            ensemble: More models of the same vocabulary, to decide together with it (Table 2).
            device: Where to translate.

        Raises:
            ModelError: A folder is incomplete or corrupt, or holds another vocabulary.
        """
        place = pick_device(str(device))
        first, *others = (_Opened.of(Path(each)) for each in (folder, *ensemble))
        for other in others:
            if other.tokenizer != first.tokenizer:
                raise ModelError(
                    f"{other.folder} has another vocabulary than {folder}: models of an ensemble "
                    "are trained on the same text with the same tokenizer settings"
                )
        model = Ensemble([first.model, *(o.model for o in others)]) if others else first.model
        return cls(
            model,
            first.tokenizer,
            languages=first.languages,
            search=first.search,
            task=first.task,
            device=place,
        )

    def translate(self, sentences: Iterable[str]) -> list[str]:
        """The best translation of each sentence."""
        return [best[0].text for best in self.stream(sentences)]

    def stream(
        self, sentences: Iterable[str], *, batch: int = 64, window: int = 0
    ) -> Iterator[list[Translation]]:
        """Translate sentences in order, as they come.

        The result does not depend on `batch`, `window` or the neighbours of a sentence.

        Args:
            sentences: One a line; an empty one has an empty translation of score 0, others that
                the vocabulary cannot say get what the task answers to silence.
            batch: Sentences that are translated together.
            window: Sentences read ahead, to translate those of like length together; 0: 32 batches.

        Yields:
            The `search.n_best` best translations of each sentence, best first.

        Raises:
            DataError: A sentence is none that the task knows: a tree, to a parser.
        """
        if isinstance(sentences, str):
            raise TypeError("one sentence is given where several are read: put it into a list")
        n_read = 0
        for lines in windows(iter(sentences), window or _WINDOW_BATCHES * batch):
            ids = [self._cut(*sentence) for sentence in self._read(lines, n_read + 1)]
            n_read += len(lines)
            results = [[self._unsaid(line)] for line in lines]
            order = sorted(
                (i for i in range(len(ids)) if len(ids[i]) > 1), key=lambda i: len(ids[i])
            )
            for rows in windows(iter(order), batch):
                found = self._batch([lines[i] for i in rows], [ids[i] for i in rows])
                for row, best in zip(rows, found, strict=True):
                    results[row] = best
            yield from results

    def _read(self, lines: list[str], first: int) -> Iterator[tuple[int, str, list[int]]]:
        """Sentences with their numbers, counted from `first`, and their ids."""
        sources = []
        for number, line in enumerate(lines, start=first):
            try:
                sources.append(self.task.source(line))
            except DataError as error:
                raise DataError(f"sentence {number}: {error}") from error
        return zip(count(first), lines, self.tokenizer.encode_source(sources))

    def _unsaid(self, line: str) -> Translation:
        """What is answered to a sentence that the model does not read."""
        text = self.task.answer("", line)
        return Translation(text, -math.inf if text else 0.0, 0)

    def _cut(self, number: int, line: str, ids: list[int]) -> list[int]:
        """The ids of a sentence, if need be without its end; eos alone is not read."""
        most = self.max_source_tokens
        if len(ids) <= most:
            return ids
        # Half a sentence can be translated; an answer over all its words would be made up.
        unread = bool(self._unsaid(line).text)
        fate = f"longer than {most} and has a flat answer" if unread else f"cut to {most}"
        said = "sentence %d of %d tokens is %s: '%s...': split it"
        _log.warning(said, number, len(ids), fate, line[:40])
        return [*([] if unread else ids[: most - 1]), ids[-1]]

    def hypotheses(self, lines: list[str], ids: list[list[int]]) -> list[list[Hypothesis]]:
        """The best translations of sentences, in ids; what `stream` makes text of.

        Args:
            lines: The sentences.
            ids: Source ids of each, eos last, at most `max_source_tokens`.
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
                Translation(self.task.answer(said, line), h.score, len(h.tokens) + 1)
                for said, h in zip(
                    self.tokenizer.decode_target([h.tokens for h in best]), best, strict=True
                )
            ]
            for line, best in zip(lines, self.hypotheses(lines, ids), strict=True)
        ]


@dataclass(frozen=True)
class _Opened:
    """What a model folder holds."""

    folder: Path
    model: Seq2Seq
    tokenizer: Tokenizer
    languages: tuple[str, str]
    search: SearchConfig
    task: str

    @classmethod
    def of(cls, folder: Path) -> "_Opened":
        if (folder / "model" / "manifest.json").exists():
            raise ModelError(f"{folder} is a run folder: its translator is {folder / 'model'}")
        verify_folder(folder)
        try:
            config = read_json(folder / "config.json")
            model = build(
                config_of(config["model"]),
                src_vocab_size=config["src_vocab_size"],
                tgt_vocab_size=config["tgt_vocab_size"],
            )
            search = SearchConfig(**config["search"])
            task = config.get("task", "translation")  # older folders know no other
            languages = (config["source_language"], config["target_language"])
            for plan in _plans.validate_json(json_text(config.get("compressed", []))):
                plan.put(model, plan.empty(model))
            weights = load_tensors(folder / "model.safetensors")
            model.load_weights(from_streams(from_int8(weights)))
        except ValidationError as error:
            said = error.errors()[0]["msg"].removeprefix("Value error, ")
            raise ModelError(f"{folder} does not fit together: {said}") from error
        except (OSError, ValueError, KeyError, TypeError, RuntimeError) as error:
            raise ModelError(f"{folder} does not fit together: {error}") from error
        return cls(folder, model, Tokenizer.load(folder), languages, search, task)


def save_translator(
    folder: Path,
    weights: Tensors,
    tokenizer: Tokenizer,
    *,
    model: ModelConfig,
    languages: tuple[str, str],
    search: SearchConfig,
    task: str = "translation",
    compressed: Sequence[TablePlan] = (),
    documents: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Write a model folder, whole or not at all.

    Args:
        folder: Its name.
        weights: Of the model; matrices may be int8 rows.
        tokenizer: The one the model was trained with.
        model: Its sizes.
        languages: Codes of source and target.
        search: How to search.
        task: What the model was taught.
        compressed: Which tables are coded.
        documents: Texts by file name.
    """
    config = {
        "task": task,
        "source_language": languages[0],
        "target_language": languages[1],
        "src_vocab_size": tokenizer.src_vocab_size,
        "tgt_vocab_size": tokenizer.tgt_vocab_size,
        "model": model.model_dump(),
        "compressed": [codes.model_dump() for codes in compressed],
        "search": search.model_dump(),
    }

    def fill(temporary: Path) -> None:
        write_json(temporary / "config.json", config)
        save_tensors(temporary / "model.safetensors", weights)
        tokenizer.save(temporary)
        for name, text in documents.items():
            (temporary / name).write_text(text, encoding="utf-8")

    save_folder(folder, fill)
