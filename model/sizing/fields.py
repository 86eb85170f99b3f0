"""One typed value of a config at a time: its other names, its default, or a refusal."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from model.errors import BadInput

ALIASES: Mapping[str, tuple[str, ...]] = {
    "num_hidden_layers": ("n_layer", "n_layers", "num_layers", "nlayers", "decoder_layers"),
    "num_attention_heads": (
        "n_head",
        "n_heads",
        "num_heads",
        "nhead",
        "num_q_heads",
        "decoder_attention_heads",
        "attention_heads",
    ),
    "num_key_value_heads": (
        "n_head_kv",
        "num_kv_heads",
        "n_kv_heads",
        "n_kv_head",
        "kv_n_heads",
        "num_query_groups",
        "n_query_groups",
        "num_attention_groups",
        "multi_query_group_num",
    ),
    "head_dim": (
        "attention_head_dim",
        "attention_head_size",
        "kv_channels",
        "head_size",
        "d_head",
        "dim_head",
        "d_kv",
    ),
    "v_head_dim": ("value_head_dim",),
    "hidden_size": ("n_embd", "n_embed", "d_model", "dim", "model_dim", "embed_dim"),
    "intermediate_size": (
        "n_inner",
        "ffn_dim",
        "d_ff",
        "ffn_hidden_size",
        "mlp_hidden_size",
        "decoder_ffn_dim",
    ),
    "vocab_size": ("padded_vocab_size", "n_vocab"),
    "max_position_embeddings": (
        "n_positions",
        "n_ctx",
        "max_seq_len",
        "max_sequence_length",
        "seq_length",
        "model_max_length",
        "max_target_positions",
        "context_length",
    ),
    "sliding_window": ("attention_window_size", "sliding_window_size", "window_size"),
    "num_experts": ("num_local_experts", "n_routed_experts", "moe_num_experts"),
    "multi_query": ("multi_query_attention",),
}

UNNAMED = "config without model_type"
MUST_AGREE = {"num_hidden_layers", "num_attention_heads", "num_key_value_heads", "hidden_size"}
"""Sizes that a file must not give twice and differently; of others the first name counts."""

LIMITS: Mapping[str, int] = {
    "num_hidden_layers": 4096,
    "max_position_embeddings": 2**40,
    "sliding_window": 2**40,
    "attention_chunk_size": 2**40,
    "vocab_size": 2**28,
    "engram_num_embeddings": 2**40,
}
WIDEST = 2**24


class Missing(BadInput):
    """A value that is needed and is not in the file."""


@dataclass(kw_only=True)
class Fields:
    """A config's values, with what was filled in for it.

    `defaults` are those of the model type's class in transformers; `nested` says the values
    come from a `text_config`, which is written without the values that equal the defaults.
    """

    values: Mapping[str, Any]
    model_type: str
    defaults: Mapping[str, Any] = field(default_factory=dict)
    class_names: Mapping[str, str] = field(default_factory=dict)
    nested: bool = False
    class_type: str = ""
    outer: Mapping[str, Any] = field(default_factory=dict)
    assumed: dict[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    def names(self, name: str) -> tuple[str, ...]:
        own = self.class_names.get(name)
        return (name, *((own,) if own else ()), *ALIASES.get(name, ()))

    def given(self, name: str) -> Any:
        """The value as written under any of its names, None when absent or null."""
        found = {n: self.values[n] for n in self.names(name) if self.values.get(n) is not None}
        first = next(iter(found), None)
        if first is None:
            return None
        for other, value in found.items():
            if name in MUST_AGREE and value != found[first] and as_count(value) is not None:
                raise BadInput(
                    f"{first} is {_show(found[first])} and {other} is {_show(value)}: "
                    "they name the same thing, keep one"
                )
        return found[first]

    def is_null(self, name: str) -> bool:
        """Whether the file says null, which overrides a class default."""
        return any(n in self.values and self.values[n] is None for n in self.names(name))

    def default(self, name: str) -> Any:
        for n in self.names(name):
            if self.defaults.get(n) is not None:
                return self.defaults[n]
        return None

    def integer(self, name: str, *, least: int = 1) -> int | None:
        """The whole number given, else the class default (then noted as assumed), else None."""
        value = self.given(name)
        if value is not None:
            return whole(value, name, least=least)
        default = None if self.is_null(name) else self.default(name)
        count = as_count(default)
        if count is None or count < least:
            return None
        self.assume(name, count, f"class default of {self.model_type}")
        return count

    def required(self, name: str, *, least: int = 1) -> int:
        """As `integer`, but a number must come of it."""
        value = self.integer(name, least=least)
        if value is None:
            raise Missing(self.missing(name))
        return value

    def defining(self, name: str) -> int:
        """A number that a file of its own always states; only a nested config may omit it."""
        if self.nested or self.given(name) is not None:
            return self.required(name)
        raise Missing(self.missing(name))

    def integer_or(self, name: str, otherwise: int, why: str, *, least: int = 1) -> int:
        """As `integer`, falling back to a rule that is said."""
        value = self.integer(name, least=least)
        if value is None:
            self.assume(name, otherwise, why)
            return otherwise
        return value

    def flag(self, name: str, *, otherwise: bool = False) -> bool:
        """A true or false; the class default, then `otherwise`, stand in for an absent one."""
        value = self.given(name)
        if value is None:
            default = self.default(name)
            return default if isinstance(default, bool) else otherwise
        if not isinstance(value, bool):
            raise BadInput(f"{name} is {_show(value)}: it must be true or false")
        return value

    def words(self, name: str) -> list[str] | None:
        """A list of strings, or None when absent."""
        value = self.given(name)
        if value is None:
            return None
        if not isinstance(value, list) or not all(isinstance(w, str) for w in value):
            raise BadInput(f"{name} is {_show(value)}: it must be a list of strings")
        return value

    def numbers(self, name: str, *, least: int = 0) -> list[int] | None:
        """A list of whole numbers, or None when absent."""
        value = self.given(name)
        if value is None:
            return None
        if not isinstance(value, list):
            raise BadInput(f"{name} is {_show(value)}: it must be a list of whole numbers")
        return [whole(v, name, least=least) for v in value]

    def table(self, name: str) -> Mapping[str, Any]:
        """A nested object, empty when absent."""
        value = self.given(name)
        if value is None:
            return {}
        if not isinstance(value, Mapping):
            raise BadInput(f"{name} is {_show(value)}: it must be an object")
        return value

    def assume(self, name: str, value: object, why: str) -> None:
        self.assumed[name] = f"{name} = {_show(value)} ({why})"

    def warn(self, message: str) -> None:
        if message not in self.warnings:
            self.warnings.append(message)

    def missing(self, name: str) -> str:
        others = ", ".join(self.names(name)[1:4])
        also = f" (or {others})" if others else ""
        return f"{name}{also} is missing, and {self.model_type} has no value that is sure: add it"

    def peek(self, name: str, *, least: int = 1) -> int | None:
        """As `integer`, for what bears on no size: a class default is not noted."""
        value = self.given(name)
        if value is not None:
            return whole(value, name, least=least)
        return None if self.is_null(name) else as_count(self.default(name))

    def inside(self, name: str) -> "Fields":
        """The values of a nested object, read with the same notes."""
        return Fields(
            values=self.table(name),
            model_type=self.model_type,
            class_type=self.class_type,
            nested=True,
            assumed=self.assumed,
            warnings=self.warnings,
        )


def whole(value: object, name: str, *, least: int = 1) -> int:
    """`value` when it is a whole number within bounds; otherwise BadInput says what it is."""
    most = LIMITS.get(name, WIDEST)
    count = as_count(value)
    if count is None:
        raise BadInput(
            f"{name} is {_show(value)}: it must be a whole number from {least:,} to {most:,}"
        )
    if not least <= count <= most:
        raise BadInput(f"{name} is {_show(value)}: it must be from {least:,} to {most:,}")
    return count


def as_count(value: object) -> int | None:
    """The value when it is a whole number (true and false are none), else None."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _show(value: object) -> str:
    """A value in an error message: short, and never a page of digits."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return f"{value:,}" if abs(value) < 10**15 else f"a number of {_digits(value)} digits"
    text = (
        repr(value) if not isinstance(value, (Mapping, Sequence)) or isinstance(value, str) else ""
    )
    if isinstance(value, Mapping):
        text = "an object"
    elif isinstance(value, list):
        text = f"a list of {len(value)}"
    return text if len(text) <= 40 else text[:37] + "..."  # noqa: PLR2004


def _digits(value: int) -> int:
    return int(abs(value).bit_length() * 0.30103) + 1
