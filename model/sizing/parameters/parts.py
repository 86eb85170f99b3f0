"""The pieces weights come in: matrices, norms, tables."""

from model.sizing.fields import Fields
from model.sizing.layers import Layer, Rows


def matrix(n_in: int, n_out: int, *, bias: bool = False) -> int:
    return n_in * n_out + (n_out if bias else 0)


def mlp(hidden: int, inner: int, *, gated: bool = True, bias: bool = False) -> int:
    """Up, down, and a gate where there is one."""
    ups = 2 if gated else 1
    return ups * matrix(hidden, inner, bias=bias) + matrix(inner, hidden, bias=bias)


def is_tied(fields: Fields) -> bool:
    """Whether the output matrix is the input table; a wrapper's own flag stands in."""
    if fields.given("tie_word_embeddings") is None and fields.nested:
        outer = fields.outer.get("tie_word_embeddings")
        if isinstance(outer, bool):
            return outer
    if fields.given("tie_word_embeddings") is None:
        tied = fields.flag("tie_word_embeddings", otherwise=True)
        fields.assume("tie_word_embeddings", tied, f"class default of {fields.model_type}")
        return tied
    return fields.flag("tie_word_embeddings")


def tables(fields: Fields, hidden: int) -> int:
    """The input table, and the output matrix unless it is the same one."""
    vocabulary = fields.defining("vocab_size")
    return vocabulary * hidden * (1 if is_tied(fields) else 2)


def named(rows: tuple[Rows, ...], name: str) -> Rows | None:
    return next((r for r in rows if r.name == name), None)


def key_and_value(layer: Layer, owner: Layer) -> tuple[Rows, Rows] | None:
    """The keys and values a layer reads, its own or its owner's; None when it attends to none."""
    rows = layer.rows or owner.rows
    key, value = named(rows, "key"), named(rows, "value")
    return None if key is None or value is None else (key, value)
