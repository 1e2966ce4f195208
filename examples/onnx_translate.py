"""Translates lines with an ONNX model: python onnx_translate.py FOLDER BEAM < FILE (1: greedy)."""

import json
import sys
from pathlib import Path

import numpy as np
import onnxruntime
from sentencepiece import SentencePieceProcessor

folder, beam, eos, unk = Path(sys.argv[1]), int(sys.argv[2]), 0, 1
config, pieces = (json.loads((folder / f"{n}.json").read_bytes()) for n in ("config", "vocabulary"))
source, target = (SentencePieceProcessor(str(folder / f"{side}.spm")) for side in pieces)
graphs = [onnxruntime.InferenceSession(folder / name) for name in config["graphs"]]
ids = {piece: i for i, piece in enumerate(pieces["source"])}

for line in sys.stdin:
    src = [*(ids.get(piece, unk) for piece in source.encode(line.strip(), out_type=str)), eos]
    limit = min(len(src) + config["search"]["max_extra"], config["max_positions"])
    lp = ((5 + np.arange(limit + 1)) / 6) ** config["search"]["alpha"]  # length penalty
    mask, start = np.ones_like([src]), config["decoder_start_token_id"]
    memory = graphs[0].run(None, {"input_ids": np.array([src]), "attention_mask": mask})[0]
    state = {"encoder_hidden_states": memory, "encoder_attention_mask": mask}
    beams, best = [(0.0, 0, [start])], (-np.inf, 0, [])  # log-probability, predecessor, tokens
    while beams and beams[0][0] / lp[limit] > best[0]:
        state = {name: array[[row for _, row, _ in beams]] for name, array in state.items()}
        state["input_ids"] = np.array([tokens[-1:] for *_, tokens in beams])
        length, graph = len(beams[0][2]), graphs[min(2, len(beams[0][2]))]  # the first has no past
        values = graph.run(None, {each.name: state[each.name] for each in graph.get_inputs()})
        for output, array in zip(graph.get_outputs(), values, strict=True):
            state[output.name.replace("present", "past_key_values")] = array
        scores = state["logits"][:, -1].astype(float)
        scores += [[b[0]] for b in beams] - np.logaddexp.reduce(scores, 1, keepdims=True)
        scores[:, unk if length < limit else slice(1, None)] = -np.inf  # only eos at the limit
        order = np.argsort(-scores, axis=None, kind="stable")[: 2 * beam - (beam == 1)]
        places = zip(*np.divmod(order, scores.shape[1]), strict=True)
        found = [(scores[r, t], r, [*beams[r][2], t]) for r, t in places]
        best = max([best, *((s / lp[length], r, t) for s, r, t in found if t[-1] == eos)])
        beams = [each for each in found if each[2][-1] != eos][:beam]
    print(target.decode([pieces["target"][token] for token in best[2][1:-1]]).replace("▁", " "))
