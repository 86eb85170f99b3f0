"""The list of variants: what each is called, what its attention is, and what it keeps."""

from collections.abc import Callable
from dataclasses import dataclass

from model.toy.config import ToyConfig
from model.toy.parameters import assemble, shapes
from model.toy.training import STANDARD, Design
from model.toy.variants import latent, shared, window

STANDARD_CONFIG = ToyConfig()


@dataclass(frozen=True, kw_only=True)
class Variant:
    """A configuration, a design, and the formula of what is kept for one word written."""

    label: str
    short: str
    says: str
    numbers_per_word: Callable[[ToyConfig], int]
    config: ToyConfig = STANDARD_CONFIG
    design: Design = STANDARD
    most_words: int | None = None  # kept at a time, where that is bounded

    @property
    def numbers_per_token(self) -> int:
        """Numbers one word adds to the caches of all layers."""
        return self.numbers_per_word(self.config)


def keys_values(config: ToyConfig) -> int:
    """2 layers × heads × (key + value)."""
    return 2 * config.n_layers * config.n_kv_heads * config.d_head


def latents(config: ToyConfig) -> int:
    return config.n_layers * (latent.D_LATENT + latent.D_ROPE)


def owners_only(config: ToyConfig) -> int:
    return 2 * config.n_kv_heads * config.d_head


VARIANTS: dict[str, Variant] = {
    "mha": Variant(
        label="MHA, 2 heads of 4",
        short="MHA 2×4",
        says="every head has its own keys and values",
        numbers_per_word=keys_values,
    ),
    "mqa": Variant(
        label="MQA, 2 heads of 4",
        short="MQA 2×4",
        says="both heads read one key and value",
        numbers_per_word=keys_values,
        config=ToyConfig(n_kv_heads=1),
    ),
    "four-heads": Variant(
        label="MHA, 4 heads of 2",
        short="MHA 4×2",
        says="four thin heads, each with its own keys and values",
        numbers_per_word=keys_values,
        config=ToyConfig(n_heads=4, n_kv_heads=4),
    ),
    "four-heads-gqa": Variant(
        label="GQA, 4 heads of 2 on 2",
        short="GQA 4×2",
        says="four query heads in two groups",
        numbers_per_word=keys_values,
        config=ToyConfig(n_heads=4, n_kv_heads=2),
    ),
    "four-heads-mqa": Variant(
        label="MQA, 4 heads of 2 on 1",
        short="MQA 4×2",
        says="four query heads read one key and value of 2 numbers",
        numbers_per_word=keys_values,
        config=ToyConfig(n_heads=4, n_kv_heads=1),
    ),
    "mla": Variant(
        label="MLA, latent 6 + rope key 2",
        short="MLA 6+2",
        says="one latent and one rotary key for both heads",
        numbers_per_word=latents,
        design=Design(latent.shapes, latent.assemble, latent.LatentNetwork),
    ),
    "cla": Variant(
        label="CLA, layer 2 reads layer 1",
        short="CLA",
        says="the second layer reads the first layer's keys and values",
        numbers_per_word=owners_only,
        design=Design(shared.shapes, shared.assemble, shared.SharedNetwork),
    ),
    "window": Variant(
        label="MHA, window of 3",
        short="window 3",
        says="each word reads itself and the two before it",
        numbers_per_word=keys_values,
        design=Design(shapes, assemble, window.WindowNetwork),
        most_words=window.WINDOW,
    ),
}

# What writes drafts for the toy of the page; trained and measured like a variant, not compared.
DRAFTS: dict[str, Variant] = {
    "smaller": Variant(
        label="one layer, encoder and decoder",
        short="1 layer",
        says="one layer where the toy has two",
        numbers_per_word=keys_values,
        config=ToyConfig(n_layers=1),
    ),
}
TRAINED = VARIANTS | DRAFTS
