"""Documents of each format, translated once with a tiny untrained model.

What the model writes has no meaning, so everything that is not text must come from the documents.
The results are read by the parsers of other projects.
"""

import itertools
import json
import os
from pathlib import Path

import pytest
import torch
from filelock import FileLock

import yakusu
from tests.system.documents.files import FILES, letter, talk, trip
from tests.translators import save
from yakusu.data.coverage import Coverage
from yakusu.data.tokenizer import Tokenizer
from yakusu.data.vocabulary import TokenizerConfig
from yakusu.model.config import TransformerConfig
from yakusu.model.transformer import Transformer
from yakusu.search.config import SearchConfig
from yakusu.search.torch_decoder import TorchDecoder
from yakusu.translator import Translator

WORDS = ("the", "red", "Boat", "sails", "home", "slowly", "under", "two", "small", "clouds")
SEEN = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz .,!?"


@pytest.fixture(scope="session")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a model, documents and translations, made once for all processes of pytest."""
    root = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        root = root.parent
    folder = root / "documents"
    with FileLock(root / "documents.lock"):
        if not (folder / "done.json").exists():
            _save_model(folder / "model")
            _save_documents(folder / "source")
            _translate(folder)
    return folder


@pytest.fixture
def model(work: Path) -> Path:
    """The folder of a model with random weights, with bytes and placeholder tokens."""
    return work / "model"


@pytest.fixture
def source(work: Path) -> Path:
    """The folder with the documents."""
    return work / "source"


@pytest.fixture
def out(work: Path) -> Path:
    """The folder with the translations."""
    return work / "out"


def _save_model(folder: Path) -> None:
    corpus = [" ".join(words) + "." for words in itertools.permutations(WORDS, 3)]
    tokenizer = Tokenizer.train(corpus, corpus, TokenizerConfig(vocab_size=330), seed=1)
    tokenizer.coverage = Coverage(source_characters=SEEN, target_characters=SEEN, longest_source=40)
    torch.manual_seed(1)
    config = TransformerConfig(n_layers=1, d_model=16, d_ff=32, n_heads=2)
    one = Translator(
        TorchDecoder(Transformer(config, **tokenizer.vocab_sizes)),
        tokenizer,
        languages=("en", "de"),
        search=SearchConfig(beam=2, max_extra=3),
    )
    save(folder, one)


def _save_documents(folder: Path) -> None:
    folder.mkdir()
    for path in FILES.iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    letter().save(str(folder / "letter.docx"))
    (folder / "talk.pptx").write_bytes(talk())
    (folder / "trip.xlsx").write_bytes(trip())


def _translate(folder: Path) -> None:
    """Translate the documents, and record what is reported of each."""
    text = yakusu.TextConfig(check=False)  # the model has seen few numbers
    done = yakusu.translate_document(folder / "model", folder / "source", folder / "out", text=text)
    report = {
        file.out.name: {
            "copied": file.copied,
            "skipped": len(file.skipped),
            "texts": file.texts,
            "unchanged": file.unchanged,
        }
        for file in done.files
    }
    (folder / "done.json").write_text(json.dumps(report))
