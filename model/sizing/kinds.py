"""What one layer of each kind keeps. Each function is one published layout."""

from dataclasses import dataclass, replace

from model.sizing.layers import Layer, Rows, State, StateFormat


@dataclass(frozen=True, kw_only=True)
class Heads:
    """Query heads, key/value heads and their widths, as one layer has them."""

    query: int
    kv: int
    key_width: int
    value_width: int


def keys_and_values(heads: Heads, *, window: int | None = None) -> tuple[Rows, Rows]:
    """A key and a value for each key/value head (Vaswani 2017; GQA: Ainslie 2023)."""
    return (
        Rows(name="key", role="key", heads=heads.kv, width=heads.key_width, window=window),
        Rows(name="value", role="value", heads=heads.kv, width=heads.value_width, window=window),
    )


def full(index: int, heads: Heads) -> Layer:
    """Every token's key and value, kept for good."""
    return Layer(
        index=index,
        kind="full",
        owner=index,
        holds=keys_and_values(heads),
        query_heads=heads.query,
    )


def windowed(index: int, heads: Heads, window: int, *, kind: str = "sliding") -> Layer:
    """The newest `window` tokens' keys and values (a chunk keeps at most its own size)."""
    return Layer(
        index=index,
        kind=kind,
        owner=index,
        holds=keys_and_values(heads, window=window),
        query_heads=heads.query,
    )


def reuse(index: int, owner: int, kind: str, query_heads: int | None = None) -> Layer:
    """A layer that reads another layer's cache and keeps nothing."""
    return Layer(index=index, kind=kind, owner=owner, query_heads=query_heads)


def nothing(index: int, kind: str = "mlp") -> Layer:
    """A layer without attention or state."""
    return Layer(index=index, kind=kind, owner=index)


@dataclass(frozen=True, kw_only=True)
class Latent:
    """The widths of multi-head latent attention."""

    heads: int
    rank: int
    rotary: int
    plain: int
    value: int


def latent(index: int, mla: Latent, *, window: int | None = None, kind: str = "mla") -> Layer:
    """One latent and one rotary key per token for all heads (DeepSeek-V2, arXiv 2405.04434)."""
    rows = tuple(
        Rows(name=name, role="key", width=width, window=window, replicated=True)
        for name, width in (("latent", mla.rank), ("rotary key", mla.rotary))
        if width
    )
    heads = Heads(
        query=mla.heads, kv=mla.heads, key_width=mla.plain + mla.rotary, value_width=mla.value
    )
    expanded = keys_and_values(heads, window=window) if mla.value else ()
    return Layer(
        index=index,
        kind=kind,
        owner=index,
        holds=rows,
        query_heads=mla.heads,
        expanded=expanded,
    )


def with_index(layer: Layer, width: int, *, every: int = 1, native: str | None = None) -> Layer:
    """The layer with an indexer's key beside its rows (DeepSeek-V3.2's sparse attention)."""
    key = Rows(
        name="index key", role="index", width=width, every=every, native=native, replicated=True
    )
    return replace(layer, kind=f"{layer.kind}+indexer", holds=(*layer.holds, key))


def convolution(channels: int, kernel: int, name: str = "conv tail") -> State:
    """The inputs a short causal convolution still needs."""
    return State(
        name=name,
        numbers=channels * kernel,
        numbers_without_newest=channels * (kernel - 1),
        stored_as="model",
    )


def recurrent(numbers: int, *, stored_as: StateFormat = "float32") -> State:
    """A state of fixed size, in 32 bits unless the model's code keeps its own type."""
    return State(
        name="recurrent state",
        numbers=numbers,
        numbers_without_newest=numbers,
        stored_as=stored_as,
    )


@dataclass(frozen=True, kw_only=True)
class StateSpace:
    """The widths of Mamba 2: its convolution sees the input and every group's B and C."""

    inner: int
    groups: int
    state: int
    kernel: int
    heads: int
    head_width: int

    @property
    def channels(self) -> int:
        return self.inner + 2 * self.groups * self.state

    def states(self) -> tuple[State, State]:
        """The convolution's tail and the state (Dao and Gu 2024, arXiv 2405.21060)."""
        return (
            convolution(self.channels, self.kernel),
            recurrent(self.heads * self.head_width * self.state),
        )


def stateful(index: int, kind: str, *states: State) -> Layer:
    """A layer whose memory does not grow."""
    return Layer(index=index, kind=kind, owner=index, holds=states)


def beside(layer: Layer, *states: State, kind: str = "hybrid") -> Layer:
    """A layer with both a growing cache and a state."""
    return replace(layer, kind=kind, holds=(*layer.holds, *states))


def with_cross(layer: Layer, heads: Heads) -> Layer:
    """A decoder layer that also keeps the encoder's keys and values."""
    cross = tuple(
        replace(r, side="encoder", name=f"cross {r.name}") for r in keys_and_values(heads)
    )
    return replace(layer, kind=f"{layer.kind}+cross", holds=(*layer.holds, *cross))
