"""Entries that stand for several tokens: DeepSeek-V4 and V4.1-Flash."""

from collections.abc import Mapping

from model.errors import BadInput
from model.sizing.families.attention import layer_count, layer_types, needed_window, query_heads
from model.sizing.families.dense import Family
from model.sizing.fields import Fields, whole
from model.sizing.layers import Layer, Rows

SPARSE, HEAVY = "compressed_sparse", "heavily_compressed"
INDEXED_RATIO = 4


def v4(fields: Fields) -> list[Layer]:
    """A window of shared keys-and-values, an entry per `ratio` tokens, an index key at ratio 4.

    A row serves as key and as value, so it is kept once.
    """
    ratios = v4_ratios(fields)
    width = fields.required("head_dim")
    window = needed_window(fields)
    index = fields.required("index_head_dim")
    query = query_heads(fields)
    layers = []
    for i, ratio in enumerate(ratios):
        holds = [newest(width, window)]
        if ratio:
            holds.append(entry(width, ratio))
        if ratio == INDEXED_RATIO:
            holds.append(index_key(index, ratio))
        kind = f"compressed 1:{ratio}" if ratio else "sliding"
        layers.append(Layer(index=i, kind=kind, owner=i, holds=tuple(holds), query_heads=query))
    return layers


def newest(width: int, window: int, native: str | None = None) -> Rows:
    return Rows(
        name="key and value",
        role="key",
        width=width,
        window=window,
        native=native,
        replicated=True,
    )


def entry(width: int, ratio: int, native: str | None = None) -> Rows:
    return Rows(
        name="compressed entry",
        role="key",
        width=width,
        every=ratio,
        native=native,
        replicated=True,
    )


def index_key(width: int, ratio: int, native: str | None = None) -> Rows:
    return Rows(
        name="index key",
        role="index",
        width=width,
        every=ratio,
        native=native,
        replicated=True,
    )


def v4_ratios(fields: Fields) -> list[int]:
    """Tokens per entry and layer: `compress_ratios`, or the layer types with their rates."""
    n_layers = layer_count(fields)
    given = fields.numbers("compress_ratios")
    if given is not None and fields.words("layer_types") is None:
        if len(given) < n_layers:  # more are those of prediction layers
            raise BadInput(
                f"compress_ratios lists {len(given):,} layers, num_hidden_layers is {n_layers:,}"
            )
        return given[:n_layers]
    rates = fields.table("compress_rates")
    sparse = whole(rates.get("compressed_sparse_attention", 4), "compress_rates")
    heavy = whole(rates.get("heavily_compressed_attention", 128), "compress_rates")
    kinds = layer_types(fields, n_layers, v4_rule)
    return [{SPARSE: sparse, HEAVY: heavy}.get(kind, 0) for kind in kinds]


def v4_rule(fields: Fields, n_layers: int) -> list[str]:
    """Two heavily compressed layers, then the two kinds in turn: the class's rule."""
    fields.assume("layer_types", "two heavy, then alternating", "the rule of deepseek_v4")
    return [SPARSE if i > 1 and i % 2 else HEAVY for i in range(n_layers)]


def v41(fields: Fields) -> list[Layer]:
    """V4.1-Flash: few layers own entries, the others read them; every layer has its window.

    Window rows are MXFP8 (528 bytes for 512), entries NVFP4-like (288) and index keys MXFP4
    (68 for 128), as released.
    """
    n_layers = layer_count(fields)
    ratios = fields.numbers("compress_ratios")
    sources = fields.numbers("kv_source_layer_ids")
    if ratios is None or sources is None:
        raise BadInput(
            "compress_ratios and kv_source_layer_ids are missing: they say who owns what"
        )
    if len(ratios) < n_layers:
        raise BadInput(f"compress_ratios lists {len(ratios):,} layers of {n_layers:,}")
    width = fields.required("head_dim")
    window = needed_window(fields)
    index = fields.required("index_head_dim")
    query = query_heads(fields)
    layers = []
    for i in range(n_layers):
        own = [newest(width, window, native="mxfp8")]
        ratio, owner = ratios[i], max((s for s in sources if s <= i), default=i)
        if ratio and owner == i:
            own += [entry(width, ratio, native="nvfp4"), index_key(index, ratio, native="mxfp4")]
        kind = f"compressed 1:{ratio}" if ratio else "sliding"
        layers.append(
            Layer(
                index=i,
                kind=kind,
                owner=owner if ratio else i,
                holds=tuple(own),
                query_heads=query,
            )
        )
    return layers


FAMILIES: Mapping[str, Family] = {
    "deepseek_v4": v4,
    "deepseek_v41": v41,
    "deepseek_v4_1": v41,
}
