"""Shared fixtures: small models, binarised pairs, and a model trained to copy."""

import gc
import json
import os
import signal
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from filelock import FileLock
from hypothesis import settings
from safetensors.torch import load_file, save_file

import yakusu.model.architectures  # noqa: F401  (registers all)
from tests.cases import THOROUGH, examples
from yakusu.data.batches import BatchConfig
from yakusu.data.pairs import DataFacts, Pairs
from yakusu.data.vocabulary import EOS
from yakusu.metrics import Score
from yakusu.model.base import Seq2Seq, models
from yakusu.model.config import TransformerConfig
from yakusu.model.transformer import Transformer
from yakusu.native.compile import system_compiler
from yakusu.progress import Silent
from yakusu.training.config import TrainingConfig
from yakusu.training.trainer import Trainer, TrainingData, TrainingOutput

settings.register_profile("yakusu", max_examples=examples(100), deadline=None)
settings.load_profile("yakusu")
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # which nohup ignores, in child processes too
gc.disable()  # until the tests are collected: nearly nothing is garbage before


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Let each process of pytest-xdist begin at another place of a folder.

    The others find the modules that it has compiled: half of the work of collecting tests.
    """
    report = yield
    if isinstance(collector, pytest.Directory):
        process, found = os.environ.get("PYTEST_XDIST_WORKER", "gw0"), report.result or []
        n = int(process[2:]) * len(found) // int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
        report.result = [*found[n:], *found[:n]]
    return report


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the longest tests first, so that no process of the tests waits for one at the end."""
    items.sort(key=lambda item: (item.path.parent.name != "system", item.path))


def pytest_collection_finish() -> None:
    """Let the collector of garbage skip modules and tests, which live until the end."""
    gc.freeze()
    gc.enable()


Sentences = Sequence[Sequence[int]]
MakeTrainer = Callable[..., Trainer]

# Small sizes for every registered model; a new architecture adds its own.
TINY: dict[str, dict[str, Any]] = {
    "bytenet": {"n_layers": 2, "d_model": 16},
    "convolutional": {"n_layers": 2, "d_model": 16, "d_conv": 24, "max_positions": 64},
    "transformer": {"n_layers": 2, "d_model": 16, "d_ff": 32, "n_heads": 2},
    "recurrent": {"n_layers": 2, "d_model": 16},
}


def _tiny(
    name: str = "transformer",
    *,
    vocab_size: int = 12,
    tgt_vocab_size: int = 0,
    seed: int = 0,
    **sizes: Any,
) -> Seq2Seq:
    torch.manual_seed(seed)
    factory: Any = models[name]
    made: Seq2Seq = factory(
        factory.Config(**{**TINY[name], **sizes}),
        src_vocab_size=vocab_size,
        tgt_vocab_size=tgt_vocab_size or vocab_size,
    ).eval()
    for weight, tensor in made.weights().items():
        if weight.endswith("_words"):
            tensor.data[:-1:3] = 1  # these tokens begin a word
    return made


def _write_pairs(folder: Path, src: Sentences, tgt: Sentences, split: str = "train") -> Pairs:
    folder.mkdir(parents=True, exist_ok=True)
    facts = DataFacts(dtype="<u2", n_train=len(src), n_dev=0, report={}, inputs={}, fullness=1)
    facts.write(folder)
    for side, sentences in (("src", src), ("tgt", tgt)):
        ids = np.concatenate([np.asarray(s, dtype="<u2") for s in sentences])
        ends = np.cumsum([0, *map(len, sentences)]).astype("<u8")
        (folder / f"{split}.{side}.tokens").write_bytes(ids.tobytes())
        (folder / f"{split}.{side}.offsets").write_bytes(ends.tobytes())
    (folder / f"{split}.lines").write_bytes(np.arange(1, len(src) + 1, dtype="<u8").tobytes())
    return Pairs.open(folder, split)


def _sequences(n: int, *, seed: int, vocab_size: int = 12, longest: int = 8) -> list[list[int]]:
    """Generate random sentences of 1 to `longest` tokens and eos."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, longest + 1, n)
    return [[*rng.integers(2, vocab_size - 1, k).tolist(), EOS] for k in lengths]


@pytest.fixture(autouse=True)
def torch_threads() -> Iterator[None]:
    """Restores the number of threads that torch uses: the order of sums depends on it."""
    before = torch.get_num_threads()
    yield
    if torch.get_num_threads() != before:
        torch.set_num_threads(before)


@pytest.fixture(autouse=True, scope="session")
def short_benchmark() -> Iterator[None]:
    """Measures this machine for receipts with 2 products, and not with many."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("yakusu.training.flops._N_PRODUCTS", 2)
        yield


@pytest.fixture(autouse=True, scope="session")
def private_cache(shared_folder: Path) -> Iterator[None]:
    """Keeps packed models out of the home folder; zig and matplotlib keep their own caches."""
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(shared_folder / "cache"))
        for name, folder in {"ZIG_GLOBAL_CACHE_DIR": "zig", "MPLCONFIGDIR": "matplotlib"}.items():
            patch.setenv(name, os.environ.get(name) or str(home / folder))
        yield


@pytest.fixture
def drawn() -> None:
    """For tests in which the picture of compressed vectors is drawn."""


@pytest.fixture
def undrawn(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Writes an empty file in place of each picture, which takes longer than all else."""

    def draw(path: Path, *_: Any) -> None:
        path.touch()

    if "drawn" not in request.fixturenames:
        monkeypatch.setattr("yakusu.vectors.figure.draw_trade_off", draw)


@pytest.fixture
def tiny() -> Callable[..., Seq2Seq]:
    """Factory of tiny, seeded models for evaluation: tiny(name, vocab_size=..., d_model=...)."""
    return _tiny


@pytest.fixture
def write_pairs() -> Callable[..., Pairs]:
    """Writes sentences of ids as binarised pairs: write_pairs(folder, src, tgt, split)."""
    return _write_pairs


@pytest.fixture
def sequences() -> Callable[..., list[list[int]]]:
    """Factory of random sentences of ids: sequences(n, seed=...)."""
    return _sequences


@pytest.fixture
def make_trainer(tmp_path: Path) -> MakeTrainer:
    """Factory of trainers of a tiny model on a copy task; keywords go to TrainingConfig."""

    def make(
        *,
        sizes: dict[str, Any] | None = None,
        n_pairs: int = 24,
        step_tokens: int = 40,
        batch_tokens: int = 20,
        pass_tokens: int = 0,
        seed: int = 1,
        folder: Path | None = None,
        bleu: Callable[[Seq2Seq], float] = lambda _: 0.0,
        record: Callable[[dict[str, Any]], None] = lambda _: None,
        **config: Any,
    ) -> Trainer:
        ids = _sequences(n_pairs, seed=5)
        pairs = _write_pairs(tmp_path / "data", ids, ids)
        return Trainer(
            _tiny(**{"dropout": 0.1, **(sizes or {})}),
            TrainingData(
                pairs,
                pairs,
                BatchConfig(
                    step_tokens=step_tokens, batch_tokens=batch_tokens, pass_tokens=pass_tokens
                ),
                seed,
            ),
            config=TrainingConfig(**{"device": "cpu", "warmup_steps": 10, **config}),
            score=lambda model: Score("BLEU", bleu(model), "of a test"),
            output=TrainingOutput(
                folder or tmp_path / "checkpoints",
                record=lambda event: record(event.fields()),
                progress=Silent(),
            ),
        )

    return make


@pytest.fixture(scope="session")
def thorough() -> bool:
    """Whether to try every case that a test knows of: YAKUSU_TESTS=thorough; some by default."""
    return THOROUGH


@pytest.fixture(scope="session")
def shared_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for what the processes of pytest-xdist make once, each thing under a lock."""
    folder = tmp_path_factory.getbasetemp()
    return folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder


@dataclass(frozen=True)
class CopyTask:
    """A model trained to copy, its log, and sequences that were not in its training data."""

    model: Transformer
    events: list[dict[str, Any]]
    unseen: list[list[int]]
    vocab_size: int


@pytest.fixture(scope="session")
def copy_task(shared_folder: Path) -> CopyTask:
    """Train a small Transformer to copy sequences, as Sockeye's system tests do.

    The first process of pytest-xdist that needs it trains it, the others load it.
    """
    vocab_size, folder = 12, shared_folder
    train = _sequences(4000, seed=1)
    seen = {tuple(ids) for ids in train}
    held_out = [ids for ids in _sequences(300, seed=2) if tuple(ids) not in seen]
    torch.manual_seed(0)
    model = Transformer(
        TransformerConfig(n_layers=1, d_model=32, d_ff=64, n_heads=4, dropout=0.0),
        src_vocab_size=vocab_size,
        tgt_vocab_size=vocab_size,
    )
    weights, log = folder / "copy.safetensors", folder / "copy.json"
    with FileLock(folder / "copy.lock"):
        if not log.exists():
            events = _train_to_copy(model, train, held_out[:50], folder / "copy")
            save_file(dict(model.weights()), weights)
            log.write_text(json.dumps(events))
    model.load_weights(load_file(weights))
    return CopyTask(model.eval(), json.loads(log.read_text()), held_out[50:], vocab_size)


def _train_to_copy(
    model: Seq2Seq, train: Sentences, dev: Sentences, folder: Path
) -> list[dict[str, Any]]:
    """Train for 750 steps; return the events of the log."""
    events: list[dict[str, Any]] = []
    Trainer(
        model,
        TrainingData(
            _write_pairs(folder, train, train),
            _write_pairs(folder, dev, dev, "dev"),
            BatchConfig(step_tokens=500, batch_tokens=500),
            seed=1,
        ),
        config=TrainingConfig(
            warmup_steps=100, max_steps=750, validate_steps=375, log_steps=50, device="cpu"
        ),
        score=lambda _: Score("BLEU", 0.0, "of a test"),
        output=TrainingOutput(
            folder / "checkpoints",
            record=lambda event: events.append(event.fields()),
            progress=Silent(),
        ),
    ).run()
    return events


@pytest.fixture(scope="session")
def compiler() -> list[str]:
    """The system's C compiler."""
    if command := system_compiler():
        return command
    pytest.skip("there is no C compiler")
