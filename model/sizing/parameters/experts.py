"""Mixtures of experts: every expert is resident, whichever are used."""

from collections.abc import Callable
from dataclasses import dataclass

from model.errors import BadInput
from model.sizing.fields import Fields, whole
from model.sizing.parameters.parts import mlp

Sparse = Callable[[Fields, int], list[bool]]
Shared = Callable[[Fields], int]


def everywhere(_fields: Fields, n_layers: int) -> list[bool]:
    return [True] * n_layers


def listed(fields: Fields, n_layers: int) -> list[bool] | None:
    """`mlp_layer_types`, when the file has it: dense or sparse, layer by layer."""
    written = fields.words("mlp_layer_types")
    if written is None or len(written) < n_layers:
        return None
    return [kind != "dense" for kind in written[:n_layers]]


def after_first(key: str, otherwise: int | None = None) -> Sparse:
    """Dense for the first `key` layers, experts from there (every `moe_layer_freq`-th)."""

    def sparse(fields: Fields, n_layers: int) -> list[bool]:
        written = listed(fields, n_layers)
        if written is not None:
            return written
        frequency = fields.given("moe_layer_freq")
        if isinstance(frequency, list):
            return [bool(v) for v in frequency[:n_layers]]
        first = fields.integer(key, least=0)
        if first is None:
            first = fields.integer_or(
                key, otherwise or 0, f"the rule of {fields.model_type}", least=0
            )
        every = whole(frequency or 1, "moe_layer_freq")
        return [i >= first and i % every == 0 for i in range(n_layers)]

    return sparse


def by_step(fields: Fields, n_layers: int) -> list[bool]:
    """Qwen: every `decoder_sparse_step`-th layer, but for `mlp_only_layers`."""
    step = fields.integer("decoder_sparse_step") or 1
    dense = set(fields.numbers("mlp_only_layers") or ())
    return [(i + 1) % step == 0 and i not in dense for i in range(n_layers)]


def interleaved(fields: Fields, n_layers: int) -> list[bool]:
    """Llama 4: `moe_layers`, or every `interleave_moe_layer_step`-th."""
    where = fields.numbers("moe_layers")
    if where is not None:
        return [i in set(where) for i in range(n_layers)]
    step = fields.integer("interleave_moe_layer_step") or 1
    return [(i + 1) % step == 0 for i in range(n_layers)]


def jamba_period(fields: Fields, n_layers: int) -> list[bool]:
    period = fields.required("expert_layer_period")
    offset = fields.required("expert_layer_offset", least=0)
    return [i % period == offset for i in range(n_layers)]


def ernie_range(fields: Fields, n_layers: int) -> list[bool]:
    first = fields.integer("moe_layer_start_index", least=0) or 0
    last = fields.given("moe_layer_end_index")
    end = n_layers - 1 if last in (None, -1) else whole(last, "moe_layer_end_index", least=0)
    step = fields.integer("moe_layer_interval") or 1
    return [(i + 1) % step == 0 and first <= i <= end for i in range(n_layers)]


def no_shared(_fields: Fields) -> int:
    return 0


def shared_width(key: str) -> Shared:
    """The shared expert's width, stated."""

    def width(fields: Fields) -> int:
        return fields.integer(key, least=0) or 0

    return width


def shared_times(key: str, unit: str = "moe_intermediate_size") -> Shared:
    """So many shared experts of the routed experts' width."""

    def width(fields: Fields) -> int:
        n_shared = fields.integer(key, least=0) or 0
        return n_shared * fields.required(unit) if n_shared else 0

    return width


@dataclass(frozen=True, kw_only=True)
class Experts:
    """How one family names and shapes its experts."""

    width: str = "moe_intermediate_size"
    count: str = "num_experts"
    sparse: Sparse = everywhere
    shared: Shared = no_shared
    shared_gate: bool = False
    biased: bool = False
    gated: bool = True
    correction: bool = False

    def always(self, fields: Fields, hidden: int) -> int:
        """Matrices of a sparse layer that every token passes: router and shared expert."""
        shared = self.shared(fields)
        gate = hidden if self.shared_gate and shared else 0
        always = mlp(hidden, shared, gated=self.gated) if shared else 0
        return fields.required(self.count) * hidden + gate + always

    def each(self, fields: Fields, hidden: int) -> int:
        """Matrices of one routed expert."""
        return mlp(hidden, fields.required(self.width), gated=self.gated)

    def weights(self, fields: Fields, hidden: int) -> int:
        """One sparse layer: router, experts, and the shared expert."""
        n_experts = fields.required(self.count)
        width = fields.required(self.width)
        each = mlp(hidden, width, gated=self.gated, bias=self.biased)
        extra = n_experts * (int(self.biased) + int(self.correction))
        total = n_experts * each + extra + self.always(fields, hidden)
        if total < 0:
            raise BadInput(f"{n_experts:,} experts of width {width:,} cannot be")
        return total
