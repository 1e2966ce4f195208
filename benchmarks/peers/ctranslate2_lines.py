"""Peer: CTranslate2 and SentencePiece as a filter, the least that translates lines as they arrive.

    python -m benchmarks.peers.ctranslate2_lines MODEL PLAIN PRECISION INTER INTRA BEAM ALPHA

MODEL is a converted model, and PLAIN the folder that it was converted from.
"""

import sys
from pathlib import Path

import ctranslate2
import sentencepiece


def main(words: list[str]) -> None:
    """Translate standard input line by line."""
    model, plain, precision, inter, intra, beam, alpha = words
    source, target = (
        sentencepiece.SentencePieceProcessor(model_file=str(Path(plain) / f"{side}.model"))
        for side in ("source", "target")
    )
    translator = ctranslate2.Translator(
        model,
        device="cpu",
        compute_type=precision,
        inter_threads=int(inter),
        intra_threads=int(intra),
    )
    settings = {"beam_size": int(beam), "length_penalty": float(alpha), "disable_unk": True}
    for line in sys.stdin:
        pieces = source.encode(line.strip(), out_type=str)
        (found,) = translator.translate_batch([pieces], **settings)
        sys.stdout.write(target.decode(found.hypotheses[0]) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
