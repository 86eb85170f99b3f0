"""Which layers are windowed when the file does not list them: each class's own rule."""

from model.errors import BadInput
from model.sizing.families.attention import Rule, window_of
from model.sizing.fields import Fields, whole


def all_full(_fields: Fields, n_layers: int) -> list[str]:
    return ["full"] * n_layers


def all_windowed(fields: Fields, n_layers: int) -> list[str]:
    """Every layer slides when there is a window at all (Mistral v0.1, Phi-3)."""
    return ["full" if window_of(fields) is None else "sliding"] * n_layers


def spread(period: int, n_layers: int, *, last_is_full: bool = False) -> list[str]:
    """Full at every `period`-th layer, counted from one; a remainder stays windowed."""
    kinds = ["sliding" if (i + 1) % period else "full" for i in range(n_layers)]
    if last_is_full and kinds:
        kinds[-1] = "full"
    return kinds


def spell(pattern: str, n_layers: int) -> list[str]:
    """A pattern in letters, repeated over the layers: L(ocal) or S(liding), G(lobal) or F(ull)."""
    letters = {"L": "sliding", "S": "sliding", "G": "full", "F": "full"}
    if not pattern or any(c not in letters for c in pattern.upper()):
        raise BadInput(
            f"sliding_window_pattern is {pattern[:40]!r}: write L for local and G for global, "
            "as in LLLG"
        )
    return [letters[pattern.upper()[i % len(pattern)]] for i in range(n_layers)]


def every(period: int, key: str = "sliding_window_pattern", *, last_is_full: bool = False) -> Rule:
    """The rule of a class whose period is `period` unless the file says another under `key`."""

    def rule(fields: Fields, n_layers: int) -> list[str]:
        given = fields.given(key)
        if isinstance(given, str):
            return spell(given, n_layers)
        if given is None:
            fields.assume(key, period, f"the rule of {fields.model_type}")
            return spread(period, n_layers, last_is_full=last_is_full)
        return spread(whole(given, key), n_layers, last_is_full=last_is_full)

    return rule


def every_from_first(period: int) -> Rule:
    """Full at layers 0, period, 2 period (CWM, Granite with windows)."""

    def rule(fields: Fields, n_layers: int) -> list[str]:
        fields.assume("layer_types", f"full every {period}", f"the rule of {fields.model_type}")
        return ["sliding" if i % period else "full" for i in range(n_layers)]

    return rule


def exaone4(fields: Fields, n_layers: int) -> list[str]:
    """A pattern only where there is a window; written as `LLLG`, the last layer is full."""
    if window_of(fields) is None:
        return ["full"] * n_layers
    kinds = every(4)(fields, n_layers)
    if isinstance(fields.given("sliding_window_pattern"), str):
        kinds[-1] = "full"
    return kinds


def after_max_window_layers(fields: Fields, n_layers: int) -> list[str]:
    """Qwen2 and Qwen3: layers from max_window_layers on slide, if use_sliding_window says so."""
    if not fields.flag("use_sliding_window") or window_of(fields) is None:
        return ["full"] * n_layers
    first = fields.integer("max_window_layers", least=0)
    if first is None:
        raise BadInput("max_window_layers is missing, and use_sliding_window is true: add it")
    return ["full" if i < first else "sliding" for i in range(n_layers)]


def dots1(fields: Fields, n_layers: int) -> list[str]:
    """dots.llm1: as Qwen2, without the switch."""
    if window_of(fields) is None:
        return ["full"] * n_layers
    first = fields.integer("max_window_layers", least=0) or 0
    return ["full" if i < first else "sliding" for i in range(n_layers)]


def qwen2_moe(fields: Fields, n_layers: int) -> list[str]:
    """Even layers below max_window_layers slide, if use_sliding_window says so."""
    if not fields.flag("use_sliding_window") or window_of(fields) is None:
        return ["full"] * n_layers
    last = fields.required("max_window_layers", least=0)
    return ["sliding" if (i + 1) % 2 and i < last else "full" for i in range(n_layers)]


def switched(fields: Fields, n_layers: int) -> list[str]:
    """Every layer slides, but only where use_sliding_window is true (Qwen3 MoE)."""
    if not fields.flag("use_sliding_window") or window_of(fields) is None:
        return ["full"] * n_layers
    return ["sliding"] * n_layers


def without_positions(fields: Fields, n_layers: int) -> list[int]:
    """Per layer 1 with rotary positions, 0 without: Llama 4's and SmolLM3's `no_rope_layers`."""
    given = fields.numbers("no_rope_layers")
    if given:
        if len(given) != n_layers:
            raise BadInput(
                f"no_rope_layers lists {len(given):,} layers and num_hidden_layers is {n_layers:,}"
            )
        return given
    period = fields.integer("no_rope_layer_interval") or 4
    return [int((i + 1) % period != 0) for i in range(n_layers)]


def llama4(fields: Fields, n_layers: int) -> list[str]:
    """Chunks where there are rotary positions, everything elsewhere."""
    if fields.is_null("attention_chunk_size"):
        return ["full"] * n_layers
    return ["chunked" if r else "full" for r in without_positions(fields, n_layers)]


def smollm3(fields: Fields, n_layers: int) -> list[str]:
    if not fields.flag("use_sliding_window") or window_of(fields) is None:
        return ["full"] * n_layers
    return ["full" if r else "sliding" for r in without_positions(fields, n_layers)]


def gpt_neo(fields: Fields, n_layers: int) -> list[str]:
    """`attention_types`: [[["global", "local"], 12]], each list repeated so often."""
    given = fields.given("attention_types")
    if given is None:
        fields.assume("attention_types", "global, local", "the rule of gpt_neo")
        return ["sliding" if i % 2 else "full" for i in range(n_layers)]
    kinds: list[str] = []
    try:
        for names, times in given:
            repeated = whole(times, "attention_types")
            kinds += [{"global": "full", "local": "sliding"}[n] for n in names] * min(
                repeated, n_layers
            )
    except (TypeError, ValueError, KeyError) as error:
        if isinstance(error, BadInput):
            raise
        raise BadInput(
            'attention_types must look like [[["global", "local"], 12]]: lists and how often'
        ) from None
    if len(kinds) != n_layers:
        raise BadInput(
            f"attention_types spells {len(kinds):,} layers and num_layers is {n_layers:,}"
        )
    return kinds


def mimo(fields: Fields, n_layers: int) -> list[str]:
    """`hybrid_layer_pattern` with 1 for a window; else the first and every sixth are full."""
    given = fields.numbers("hybrid_layer_pattern")
    if given is None:
        fields.assume("layer_types", "full at 0 and every sixth", "the rule of mimo_v2_flash")
        return ["full" if i == 0 or not (i + 1) % 6 else "sliding" for i in range(n_layers)]
    if len(given) != n_layers:
        raise BadInput(
            f"hybrid_layer_pattern lists {len(given):,} layers, num_hidden_layers is {n_layers:,}"
        )
    return ["sliding" if v else "full" for v in given]


def cohere2_moe(fields: Fields, n_layers: int) -> list[str]:
    """A prefix of dense layers with its own period, then every fourth (Command A+)."""
    dense = min(
        whole(fields.given("first_k_dense_replace") or 0, "first_k_dense_replace", least=0),
        n_layers,
    )
    period = fields.integer("prefix_dense_sliding_window_pattern") or 1
    return spread(period, dense) + every(4)(fields, n_layers - dense)


def flint(fields: Fields, n_layers: int) -> list[str]:
    fields.assume("layer_types", "full at 0, 1, every fourth, last", "the rule of flint")
    last = n_layers - 1
    return ["full" if i < 2 or i % 4 == 1 or i == last else "sliding" for i in range(n_layers)]  # noqa: PLR2004


def backwards(period: int) -> Rule:
    """Full at every `period`-th layer counted back from the last."""

    def rule(fields: Fields, n_layers: int) -> list[str]:
        fields.assume("layer_types", f"full every {period}", f"the rule of {fields.model_type}")
        return ["sliding" if (n_layers - 1 - i) % period else "full" for i in range(n_layers)]

    return rule
