"""Compares the sizes in config.json with the shapes in the header of model.safetensors.

A folder may come from anyone: this happens before anything of these sizes is allocated. The shapes
of architectures that only torch runs are compared in network.py.
"""

from collections.abc import Sequence

from yakusu.arrays import INTEGERS, SCALE, SHAPE, ArraysOnDisk
from yakusu.engine.shapes import shapes
from yakusu.errors import ModelError
from yakusu.model.config import AnyConfig, TransformerConfig
from yakusu.model.table_plans import AnyTablePlan, Shapes


def check_sizes(
    config: AnyConfig,
    plans: Sequence[AnyTablePlan],
    stored: ArraysOnDisk,
    *,
    src_vocab_size: int,
    tgt_vocab_size: int,
) -> None:
    """Check that weights have the names and shapes that a configuration implies.

    Args:
        config: Sizes of the model.
        plans: Its compressed tables.
        stored: Its weights.
        src_vocab_size: Size of the source vocabulary, including padding.
        tgt_vocab_size: Size of the target vocabulary, including padding.

    Raises:
        ModelError: They do not.
    """
    compressed = [name for plan in plans for name in plan.tables]
    if len(set(compressed)) < len(compressed) or not all(plan.tables for plan in plans):
        raise ModelError("a compressed table has no name, or that of another one")
    if _least_tensors(config) > len(stored):
        raise ModelError(f"config.json has more layers than there are weights ({len(stored)})")
    if config.tied == "three-way" and src_vocab_size != tgt_vocab_size:
        raise different("src_table")
    if not isinstance(config, TransformerConfig):
        return
    if config.start_id is not None and config.start_id >= tgt_vocab_size - 1:
        raise ModelError(
            f"model.start_id = {config.start_id} is not among the ids 0 to {tgt_vocab_size - 2} of "
            "the target vocabulary"
        )
    sizes = {"src_vocab_size": src_vocab_size, "tgt_vocab_size": tgt_vocab_size}
    check_shapes(shapes(config, plans, **sizes), stored)


def check_shapes(expected: Shapes, stored: ArraysOnDisk) -> None:
    """Check that weights have these names and shapes, whichever way they are stored.

    Raises:
        ModelError: They do not.
    """
    names = {name for name in stored if not name.startswith((SCALE, SHAPE))}
    if strange := sorted(expected.keys() ^ names):
        raise different(strange[0])
    for name, shape in expected.items():
        if _stored_shape(stored, name) != shape:
            raise different(name)
    _check_scales(expected, stored)


def _check_scales(expected: Shapes, stored: ArraysOnDisk) -> None:
    """Check that int8 matrices have one float32 scale for each row, and nothing else has scales."""
    scaled = {name.removeprefix(SCALE) for name in stored if name.startswith(SCALE)}
    integers = {name for name in expected if stored.place(name)[0] == "I8"}
    if strange := sorted(scaled ^ integers):
        raise ModelError(f"the weight '{strange[0]}' must be int8 and have scales, or neither")
    for name in sorted(scaled):
        found = stored.place(SCALE + name)[0], *stored.shape(SCALE + name)
        if len(expected[name]) != 2 or found != ("F32", expected[name][0], 1):
            raise ModelError(f"the scales of '{name}' must be float32, one for each row")


def different(name: str) -> ModelError:
    """Return the error for a weight that does not fit the model."""
    return ModelError(f"the weights belong to another model: '{name}' does not match")


def _stored_shape(stored: ArraysOnDisk, name: str) -> tuple[int, ...]:
    """Return the shape of a weight; that of encoded integers is stored next to them."""
    if not name.endswith(INTEGERS):
        return stored.shape(name)
    if SHAPE + name not in stored or stored.shape(SHAPE + name) != (2,):
        raise different(name)
    return tuple(stored[SHAPE + name].tolist())


def _least_tensors(config: AnyConfig) -> int:
    """Return a lower bound of the number of weights of all layers."""
    if isinstance(config, TransformerConfig):
        return sum(config.depths) * max(1, config.n_experts)
    return 2 * config.n_layers
