"""Latent attention: DeepSeek-V2 and V3 and their kin, with and without an indexer."""

from collections.abc import Mapping

from model.errors import BadInput
from model.sizing.families.attention import layer_count, layer_types, query_heads
from model.sizing.families.dense import Family, uniform
from model.sizing.fields import Fields
from model.sizing.kinds import Latent, latent, with_index
from model.sizing.layers import Layer


def widths(fields: Fields) -> Latent:
    """Latent and rotary widths; the file's head_dim is often the rotary one, and unused."""
    return Latent(
        heads=query_heads(fields),
        rank=fields.required("kv_lora_rank"),
        rotary=fields.required("qk_rope_head_dim", least=0),
        plain=fields.integer("qk_nope_head_dim", least=0) or 0,
        value=fields.integer("v_head_dim") or 0,
    )


def mla(fields: Fields) -> list[Layer]:
    """576 numbers a token and layer in DeepSeek-V2 and V3: no heads, no factor of two."""
    shape = widths(fields)
    return [latent(i, shape) for i in range(layer_count(fields))]


def mla_unless_switched_off(fields: Fields) -> list[Layer]:
    """DeepSeek-VL2's small sizes have `use_mla` false, or a rank of null: ordinary heads."""
    if fields.given("use_mla") is False:
        return uniform(fields)
    return mla(fields)


def indexed(fields: Fields) -> list[Layer]:
    """An indexer's key beside the latent, on the layers that own an indexer."""
    shape = widths(fields)
    n_layers = layer_count(fields)
    width = fields.required("index_head_dim")
    owns = index_owners(fields, n_layers)
    return [
        with_index(latent(i, shape), width) if owns[i] else latent(i, shape)
        for i in range(n_layers)
    ]


def index_owners(fields: Fields, n_layers: int) -> list[bool]:
    """Which layers own an indexer: `indexer_types`, `index_topk_pattern`, or a period."""
    written = fields.words("indexer_types")
    pattern = fields.given("index_topk_pattern")
    if written is None and isinstance(pattern, str):
        written = list(pattern)
    elif written is None:
        written = fields.words("index_topk_pattern")
    if written is None:
        return by_period(fields, n_layers)
    meaning = {"full": True, "F": True, "shared": False, "S": False}
    if len(written) != n_layers or any(w not in meaning for w in written):
        raise BadInput(
            f"indexer_types lists {len(written):,} entries for {n_layers:,} layers: "
            "give one of full and shared (or F and S) for each"
        )
    return [meaning[w] for w in written]


def by_period(fields: Fields, n_layers: int) -> list[bool]:
    period = fields.integer("index_topk_freq") or 1
    offset = fields.integer("index_skip_topk_offset", least=0)
    offset = 2 if offset is None else offset
    return [max(i - offset + 1, 0) % period == 0 for i in range(n_layers)]


def hy_v4(fields: Fields) -> list[Layer]:
    """Hunyuan V4: an indexer on the first layer and every fourth after it."""
    if fields.words("indexer_types") is None:
        n_layers = layer_count(fields)
        fields.assume("indexer_types", "full at 0 and every fourth", "the rule of hy_v4")
        kinds = ["full" if i == 0 or (i - 1) % 4 == 0 else "shared" for i in range(n_layers)]
        fields.values = {**fields.values, "indexer_types": kinds}
    return indexed(fields)


def longcat(fields: Fields) -> list[Layer]:
    """LongCat-Flash: two attention layers in every block."""
    shape = widths(fields)
    return [latent(i, shape) for i in range(2 * fields.defining("num_layers"))]


def dots3_rule(fields: Fields, n_layers: int) -> list[str]:
    fields.assume("layer_types", "full at 0, 1, every fourth", "the rule of dots3_note")
    return ["full" if i < 2 or i % 4 == 1 else "sliding" for i in range(n_layers)]  # noqa: PLR2004


def dots3(fields: Fields) -> list[Layer]:
    """dots3: windowed latents of another rank between indexed ones."""
    shape = widths(fields)
    local = Latent(
        heads=fields.integer_or("swa_num_attention_heads", 64, "the rule of dots3_note"),
        rank=fields.integer_or("swa_kv_lora_rank", 1024, "the rule of dots3_note"),
        rotary=shape.rotary,
        plain=fields.integer_or("swa_qk_nope_head_dim", 192, "the rule of dots3_note"),
        value=fields.integer_or("swa_v_head_dim", 128, "the rule of dots3_note"),
    )
    n_layers = layer_count(fields)
    kinds = layer_types(fields, n_layers, dots3_rule)
    index = fields.required("index_head_dim")
    layers = []
    for i, kind in enumerate(kinds):
        if kind == "sliding":
            layers.append(
                latent(
                    i,
                    local,
                    window=fields.integer_or("sliding_window", 512, "the rule of dots3_note"),
                    kind="mla+sliding",
                )
            )
        else:
            layers.append(with_index(latent(i, shape), index))
    return layers


FAMILIES: Mapping[str, Family] = {
    **dict.fromkeys(
        (
            "axk1",
            "deepseek_v3",
            "glm4_moe_lite",
            "kimi_k2",
            "minicpm3",
            "mistral4",
            "sarvam_mla",
            "youtu",
        ),
        mla,
    ),
    "axk2": indexed,
    "deepseek_v2": mla_unless_switched_off,
    "deepseek_v32": indexed,
    "dots3_note_text": dots3,
    "glm_moe_dsa": indexed,
    "hy_v4": hy_v4,
    "hy_v4_vl_text": hy_v4,
    "longcat_flash": longcat,
}
