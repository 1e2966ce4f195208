"""The names and shapes of the weights of a Transformer, as in `Seq2Seq.weights`, without torch."""

from collections.abc import Iterator, Sequence
from typing import Literal

from yakusu.model.config import TransformerConfig
from yakusu.model.table_plans import AnyTablePlan, Shapes, TableName

NamedShape = tuple[str, tuple[int, ...]]
# The order in which a model has its tables: a shared one has the name of the first.
_TABLES: tuple[TableName, ...] = ("tgt_table", "src_table", "output_table")
_TIED: dict[str, tuple[TableName, ...]] = {
    "three-way": _TABLES,
    "decoder": ("tgt_table", "output_table"),
    "none": (),
}


def owners(config: TransformerConfig, plans: Sequence[AnyTablePlan]) -> dict[str, TableName]:
    """Return for each table the first of those that share its weights.

    Tied tables share weights, except that the tables of a plan share them with each other only.
    """
    group = {name: "tied" if name in _TIED[config.tied] else name for name in _TABLES}
    for i, plan in enumerate(plans):
        group |= dict.fromkeys(plan.tables, f"plan {i}")
    return {name: next(each for each in _TABLES if group[each] == group[name]) for name in _TABLES}


def tying(owned: dict[str, TableName]) -> Literal["three-way", "decoder", "none"]:
    """Return the setting `tied` that describes the result of `owners`, if all tables are dense."""
    if len(set(owned.values())) == 1:
        return "three-way"
    return "decoder" if owned["output_table"] == owned["tgt_table"] else "none"


def dense_config(config: TransformerConfig, plans: Sequence[AnyTablePlan]) -> TransformerConfig:
    """Return the config of a model with decompressed tables.

    If only some of several tied tables are compressed, they are no longer tied.
    """
    return config.model_copy(update={"tied": tying(owners(config, plans))})


def shapes(
    config: TransformerConfig,
    plans: Sequence[AnyTablePlan],
    *,
    src_vocab_size: int,
    tgt_vocab_size: int,
) -> Shapes:
    """Return the shape of each weight of a model whose tables are compressed as in `plans`."""
    width, found = config.d_model, Shapes()
    plan_of = {name: plan for plan in plans for name in plan.tables}
    for name in dict.fromkeys(owners(config, plans).values()):
        size = src_vocab_size if name == "src_table" else tgt_vocab_size
        dense: Shapes = {"weight": (size, width)}
        own = plan_of[name].shapes(size, width) if name in plan_of else dense
        found |= {f"{name}.{part}": shape for part, shape in own.items()}
    if config.positions == "learned":
        for side in ("tgt",) if config.tied == "three-way" else ("src", "tgt"):
            found[f"{side}_embedding.positions.table"] = (config.max_positions, width)
    if config.counts_words:
        found |= {"src_words": (src_vocab_size,), "tgt_words": (tgt_vocab_size,)}
    if config.output_bias:
        found["output_bias"] = (tgt_vocab_size - 1,)
    for side, n_layers in zip(("encoder", "decoder"), config.depths, strict=True):
        for i in range(n_layers):
            layer = _layer(config, decoder=side == "decoder")
            found |= {f"{side}.{i}.{name}": shape for name, shape in layer}
    if config.norm == "pre":
        found |= dict((*_norm("encoder_norm", width), *_norm("decoder_norm", width)))
    return found


def _layer(config: TransformerConfig, *, decoder: bool) -> Iterator[NamedShape]:
    yield from _mixing(config, decoder=decoder)
    if decoder:
        yield from _attention("cross_attention", config)
    yield from _feed_forward(config)
    for i in range(2 + decoder):
        yield from _norm(f"residuals.{i}.norm", config.d_model)


def _mixing(config: TransformerConfig, *, decoder: bool) -> Iterator[NamedShape]:
    name, width = "self_attention", config.d_model
    if config.mixing == "convolution":
        yield f"{name}.depthwise", (width, config.kernel)
        yield from _linear(f"{name}.pointwise", width, width)
    elif config.mixing == "recurrent":
        hidden = width if decoder else width // 2
        for direction in ("rightward",) if decoder else ("rightward", "leftward"):
            for part, n_in in ("ih", width), ("hh", hidden):
                yield f"{name}.{direction}.weight_{part}_l0", (4 * hidden, n_in)
                yield f"{name}.{direction}.bias_{part}_l0", (4 * hidden,)
    else:
        yield from _attention(name, config)


def _attention(name: str, config: TransformerConfig) -> Iterator[NamedShape]:
    n_heads, width = config.n_heads, config.d_model
    projected = n_heads * (2 * config.d_k + config.d_v)
    yield f"{name}.w_qkv", (projected, width)
    yield f"{name}.w_o", (width, n_heads * config.d_v)
    if config.biases:
        yield f"{name}.b_qkv", (projected,)
        yield f"{name}.b_o", (width,)
    if config.score == "additive":
        yield f"{name}.score.v", (n_heads, config.d_k)


def _feed_forward(config: TransformerConfig) -> Iterator[NamedShape]:
    name, width = "feed_forward", config.d_model
    parts = [f"{name}.experts.{i}" for i in range(config.n_experts)] or [name]
    if config.n_experts:
        yield f"{name}.router.weight", (config.n_experts, width)
    for part in parts:
        yield from _linear(f"{part}.inner", config.d_ff, width)
        yield from _linear(f"{part}.outer", width, config.d_ff)


def _linear(name: str, n_out: int, n_in: int) -> Iterator[NamedShape]:
    yield f"{name}.weight", (n_out, n_in)
    yield f"{name}.bias", (n_out,)


def _norm(name: str, width: int) -> Iterator[NamedShape]:
    yield f"{name}.weight", (width,)
    yield f"{name}.bias", (width,)
