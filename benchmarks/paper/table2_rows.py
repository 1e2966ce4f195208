"""The systems of Table 2, those that are not reproduced, and the names in earlier records."""

from collections.abc import Iterable
from dataclasses import dataclass

from benchmarks.records import Record

MIN_BATCHES = 4  # of a step: with fewer, nearly every update sees sentences of only one length


@dataclass(frozen=True)
class System:
    """A system of the table.

    recipe: File in recipes/.
    changes: Settings, key=value.
    seeds: More than one: an ensemble.
    paper: Result of the system in the paper, WMT 2014 en-de.
    """

    recipe: str
    changes: tuple[str, ...] = ()
    seeds: tuple[int, ...] = (1,)
    paper: str = "-"


SYSTEMS = {
    "Transformer": System("multi30k.toml", paper="27.3, 3.3e18 FLOPs (base)"),
    "LSTM with attention": System("multi30k-lstm.toml"),
    "LSTM with a fixed vector": System("multi30k-lstm-no-attention.toml"),
    "ByteNet": System("multi30k-bytenet.toml", paper="23.75"),
    "GNMT (without RL)": System("multi30k-gnmt.toml", paper="24.6, 2.3e19 FLOPs (with RL)"),
    "ConvS2S": System("multi30k-conv.toml", paper="25.16, 9.6e18 FLOPs"),
    "ConvS2S, dilated": System("multi30k-conv.toml", ("model.dilations=[1, 2, 4, 8, 16]",)),
    "Transformer with 4 experts per layer": System("multi30k.toml", ("model.n_experts=4",)),
    "ensemble of two Transformers": System("multi30k.toml", seeds=(1, 2)),
    "ensemble of two GNMT": System(
        "multi30k-gnmt.toml", seeds=(1, 2), paper="26.30, 1.8e20 FLOPs (with RL)"
    ),
    "ensemble of two ConvS2S": System(
        "multi30k-conv.toml", seeds=(1, 2), paper="26.36, 7.7e19 FLOPs"
    ),
}
NOT_REPRODUCED = {
    "Deep-Att + PosUnk": "it replaces unknown words, which subwords do not have, and its 16 LSTM "
    "layers do not fit the budget",
    "GNMT + RL": "yakusu has no reinforcement learning; the rows of GNMT are without it",
    "MoE": "it is an LSTM with layers of up to thousands of experts; the row with experts is a "
    "Transformer, whose feed-forward networks are mixtures of four",
}
# Name of a system in earlier records -> its current name.
_RENAMED = {
    "convolutional": "ConvS2S",
    "convolutional, dilated": "ConvS2S, dilated",
    "Transformer with experts": "Transformer with 4 experts per layer",
    "two Transformers": "ensemble of two Transformers",
}


def newest(records: Iterable[Record]) -> dict[tuple[str, float], Record]:
    """The newest record of each system, by its current name, and budget."""
    in_order = sorted(records, key=lambda record: record.date)
    return {(_RENAMED.get(each["name"], each["name"]), each["budget"]): each for each in in_order}


def batch_tokens(record: Record) -> int:
    """The tokens of a batch in a run, at most those of a step."""
    batches = record["recipe"]["batches"]
    return min(batches["step_tokens"], batches["batch_tokens"])
