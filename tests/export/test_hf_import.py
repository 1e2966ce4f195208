"""Marian models in the form of Hugging Face compute the same here as in its own library."""

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from tests.export.marians import TOKENS, VARIANTS, Marian, sentences
from yakusu.data.tokenizer import Tokenizer
from yakusu.engine.config import EngineConfig
from yakusu.export.marian import POSITIONS
from yakusu.model.base import Seq2Seq
from yakusu.pipeline.import_model import import_model
from yakusu.search.config import SearchConfig
from yakusu.search.decoder import Query
from yakusu.search.tokens import TokenRules
from yakusu.translator.folder.network import open_model
from yakusu.translator.folder.opening import open_decoder

transformers = pytest.importorskip("transformers")
pytestmark = pytest.mark.filterwarnings("ignore")  # of transformers

N_TOKENS = 24  # of a translation


class Oracle:
    """A folder that Hugging Face's library runs in float32."""

    def __init__(self, folder: Path) -> None:
        self.model = transformers.MarianMTModel.from_pretrained(folder, dtype=torch.float32).eval()
        self.tokenizer = transformers.MarianTokenizer.from_pretrained(folder)

    def logits(self, src: Sequence[int], tgt: Sequence[int]) -> torch.Tensor:
        """The logits (T, V) of each target token."""
        start = self.model.config.decoder_start_token_id
        tgt_in = torch.tensor([[start, *tgt[:-1]]])
        with torch.inference_mode():
            found: torch.Tensor = self.model(
                input_ids=torch.tensor([src]), decoder_input_ids=tgt_in
            ).logits[0]
        return found

    def greedy(self, texts: Sequence[str]) -> list[str]:
        """Translate into at most `N_TOKENS` tokens, without <unk> and <pad>."""
        config = self.model.config
        inputs = self.tokenizer(list(texts), return_tensors="pt", padding=True)
        unk = self.tokenizer.convert_tokens_to_ids("<unk>")
        ids = self.model.generate(
            **inputs,
            num_beams=1,
            do_sample=False,
            max_new_tokens=N_TOKENS,
            bad_words_ids=[[unk], [config.pad_token_id]],
            forced_eos_token_id=config.eos_token_id,  # the last token, as here
        )
        found: list[str] = self.tokenizer.batch_decode(
            ids, skip_special_tokens=True, clean_up_tokenization_spaces=False
        )
        return found


def imported(folder: Path) -> tuple[Seq2Seq, Tokenizer]:
    """Import a folder; return the network in torch."""
    import_model(folder, folder.with_name("own"))
    _, network, tokenizer = open_model(folder.with_name("own"))
    return network.eval(), tokenizer


def ids_of(vocabulary: dict[str, int], pieces: Sequence[str]) -> list[int]:
    return [vocabulary.get(piece, vocabulary["<unk>"]) for piece in pieces]


def compare_logits(oracle: Oracle, network: Seq2Seq, tokenizer: Tokenizer, folder: Path) -> float:
    """The largest difference of the logits of random targets."""
    vocabularies = [json.loads((folder / "vocab.json").read_text(encoding="utf-8"))] * 2
    if (folder / "target_vocab.json").exists():
        vocabularies[1] = json.loads((folder / "target_vocab.json").read_text(encoding="utf-8"))
    pieces = [tokenizer.tgt.piece(i) for i in range(len(tokenizer.tgt))]
    rows = ids_of(vocabularies[1], pieces)
    n_real = len(pieces) - (pieces[-1] == "<pad>")  # a start with a vector is never generated
    rng, worst = random.Random(3), 0.0
    for text in sentences(0)[:20]:
        src = tokenizer.src.encode(text)
        tgt = [*rng.choices(range(2, n_real), k=rng.randint(1, 15)), 0]
        theirs = oracle.logits(
            ids_of(vocabularies[0], [tokenizer.src.piece(i) for i in src]),
            ids_of(vocabularies[1], [tokenizer.tgt.piece(i) for i in tgt]),
        )[:, rows[:n_real]]
        with torch.inference_mode():
            tgt_in = torch.tensor([[network.tgt_pad, *tgt[:-1]]])
            own = network.decode(tgt_in, network.encode(torch.tensor([src])))[0, :, :n_real]
        worst = max(worst, float((own - theirs).abs().max()))
    return worst


def greedy(folder: Path, texts: Sequence[str], engine: Any, to: str = "") -> list[str]:
    """Translate with one of the engines, with limits on length only."""
    config = EngineConfig(engine=engine, precision="float32", threads=1)
    _, tokenizer, decoder = open_decoder([folder], config)
    if to:
        tokenizer = tokenizer.translating_to(to)
    limits = {"max_length": N_TOKENS - 1, "max_extra": N_TOKENS, "max_repeats": 0}
    found = decoder.search(
        [Query(ids) for ids in tokenizer.encode_source(texts)],
        SearchConfig(beam=1, alpha=0, **limits),
        TokenRules(len(tokenizer.tgt)),
        batch=32,
    )
    return [tokenizer.tgt.decode(best.tokens) for (best,) in found]


@pytest.mark.parametrize("name", VARIANTS)
def test_logits_and_greedy_translations_are_those_of_the_library(name: str, tmp_path: Path) -> None:
    folder = VARIANTS[name].write(tmp_path / "hf")
    check(folder, n_texts=30)


def check(folder: Path, *, n_texts: int) -> None:
    """Compare logits, and greedy translations with both engines."""
    oracle, (network, tokenizer) = Oracle(folder), imported(folder)
    assert compare_logits(oracle, network, tokenizer, folder) < 1e-4
    texts = sentences(0)[:n_texts]
    theirs = oracle.greedy(texts)
    assert len(set(theirs)) > 1  # they depend on the sentences
    for engine in "torch", "native":
        own = greedy(folder.with_name("own"), texts, engine)
        assert [text.strip() for text in own] == theirs


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("pickled", [False, True])
def test_half_precision_and_older_files_are_read(
    dtype: torch.dtype, pickled: bool, tmp_path: Path
) -> None:
    folder = Marian().write(tmp_path / "hf")
    path = folder / "model.safetensors"
    halves = {name: tensor.to(dtype) for name, tensor in load_file(path).items()}
    if pickled:
        path.unlink()
        torch.save(halves, folder / "pytorch_model.bin")
    else:
        save_file(halves, path)
    check(folder, n_texts=10)


@pytest.mark.parametrize("pickled", [False, True])
def test_a_folder_that_the_library_saved_is_read(pickled: bool, tmp_path: Path) -> None:
    oracle = Oracle(Marian(tokens=TOKENS).write(tmp_path / "made"))
    oracle.model.save_pretrained(tmp_path / "hf")
    oracle.tokenizer.save_pretrained(tmp_path / "hf")
    if pickled:  # with all the names of one table, and sinusoids, as in older versions
        (tmp_path / "hf" / "model.safetensors").unlink()
        torch.save(oracle.model.state_dict(), tmp_path / "hf" / "pytorch_model.bin")
    check(tmp_path / "hf", n_texts=10)


def test_added_tokens_have_the_logits_of_the_library(tmp_path: Path) -> None:
    oracle = Oracle(Marian().write(tmp_path / "made"))
    oracle.tokenizer.add_tokens(["<new>", "wörd"])
    oracle.model.resize_token_embeddings(len(oracle.tokenizer))
    oracle.model.save_pretrained(tmp_path / "hf")
    oracle.tokenizer.save_pretrained(tmp_path / "hf")
    folder, (network, tokenizer) = tmp_path / "hf", imported(tmp_path / "hf")
    rows = json.loads((folder / "vocab.json").read_text(encoding="utf-8"))
    rows |= json.loads((folder / "added_tokens.json").read_text(encoding="utf-8"))
    pieces = [tokenizer.tgt.piece(i) for i in range(len(tokenizer.tgt))]
    assert {"<new>", "wörd"} <= {*pieces}
    src, tgt = (5, 9, pieces.index("<new>"), 0), (7, pieces.index("wörd"), 8, 0)
    theirs = oracle.logits(*(ids_of(rows, [pieces[i] for i in ids]) for ids in (src, tgt)))
    with torch.inference_mode():
        tgt_in = torch.tensor([[network.tgt_pad, *tgt[:-1]]])
        own = network.decode(tgt_in, network.encode(torch.tensor([src])))[0]
    assert float((own - theirs[:, ids_of(rows, pieces)]).abs().max()) < 1e-4


def test_learned_positions_are_read(tmp_path: Path) -> None:
    for i, equal in enumerate((True, False)):
        folder = Marian().write(tmp_path / str(i) / "hf")
        rng, tensors = np.random.default_rng(5), load_file(folder / "model.safetensors")
        tables = [torch.from_numpy(rng.normal(0, 0.5, (256, 32)).astype("<f4")) for _ in range(2)]
        names = [f"model.{name}" for name in POSITIONS.values()]
        chosen = [tables[0], tables[0].clone() if equal else tables[1]]
        tensors |= dict(zip(names, chosen, strict=True))
        save_file(tensors, folder / "model.safetensors")
        assert Oracle(folder).model.model.decoder.embed_positions.weight[3, 2] == chosen[1][3, 2]
        check(folder, n_texts=10)


def test_a_target_language_has_the_same_ids_and_translations(tmp_path: Path) -> None:
    folder = Marian(tokens=TOKENS).write(tmp_path / "hf")
    oracle, (_, tokenizer) = Oracle(folder), imported(folder)
    vocabulary = json.loads((folder / "vocab.json").read_text(encoding="utf-8"))
    for code in "de", "fr":
        own = tokenizer.translating_to(code).encode_source(sentences(0)[:20])
        for text, ids in zip(sentences(0), own, strict=False):
            rows = ids_of(vocabulary, [tokenizer.src.piece(i) for i in ids])
            assert rows == oracle.tokenizer(f">>{code}<< {text}").input_ids
    theirs = oracle.greedy([f">>fr<< {text}" for text in sentences(0)[:20]])
    made = greedy(tmp_path / "own", sentences(0)[:20], "native", to="fr")
    assert [text.strip() for text in made] == theirs


def test_any_sequence_of_ids_has_the_same_text(tmp_path: Path) -> None:
    folder = Marian(tokens=TOKENS).write(tmp_path / "hf")
    oracle, (_, tokenizer) = Oracle(folder), imported(folder)
    vocabulary = json.loads((folder / "vocab.json").read_text(encoding="utf-8"))
    rng = random.Random(2)
    for _ in range(200):
        ids = rng.choices(range(2, len(tokenizer.tgt)), k=rng.randint(1, 9))
        rows = ids_of(vocabulary, [tokenizer.tgt.piece(i) for i in ids])
        theirs = oracle.tokenizer.decode(
            rows, clean_up_tokenization_spaces=False, use_source_tokenizer=False
        )
        assert tokenizer.tgt.decode(ids).strip() == theirs


@pytest.fixture(scope="module")
def taught(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that the library trained for some hundred steps to translate."""
    folder = Marian(config={"d_model": 64, "encoder_ffn_dim": 128, "decoder_ffn_dim": 128}).write(
        tmp_path_factory.mktemp("taught") / "hf"
    )
    oracle = Oracle(folder)
    model, tokenizer = oracle.model.train(), oracle.tokenizer
    for parameter in model.parameters():
        if parameter.dim() > 1:
            torch.nn.init.normal_(parameter, std=0.1)
    with torch.no_grad():
        model.get_input_embeddings().weight[model.config.pad_token_id] = 0
    pairs = list(zip(sentences(0), sentences(1), strict=True))
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    torch.manual_seed(1)
    for step in range(250):
        chosen = random.Random(step).sample(pairs, 16)
        batch = tokenizer([a for a, _ in chosen], return_tensors="pt", padding=True)
        labels = tokenizer(
            text_target=[b for _, b in chosen], return_tensors="pt", padding=True
        ).input_ids
        labels[labels == model.config.pad_token_id] = -100
        optimizer.zero_grad()
        loss = model(**batch, labels=labels).loss
        loss.backward()
        optimizer.step()
    model.eval().save_pretrained(folder)
    return folder


@pytest.mark.slow
def test_a_model_that_translates_gives_the_same_hundred_translations(taught: Path) -> None:
    oracle, (network, tokenizer) = Oracle(taught), imported(taught)
    assert compare_logits(oracle, network, tokenizer, taught) < 1e-4
    texts = sentences(0)[:100]
    theirs = oracle.greedy(texts)
    for engine in "torch", "native":
        assert [x.strip() for x in greedy(taught.with_name("own"), texts, engine)] == theirs
    words = {word for text in sentences(1) for word in text.split()}
    known = [word in words for text in theirs for word in text.split()]
    assert sum(known) / len(known) > 0.5  # German
