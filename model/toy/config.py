"""The integers that decide everything about the toy."""

from dataclasses import dataclass

from model.errors import BadInput


@dataclass(frozen=True, kw_only=True)
class ToyConfig:
    """An encoder-decoder after Vaswani et al. 2017, section 3, shrunk to be read.

    `position_base` is 100 where the paper has 10,000 for 512 numbers: with 8 numbers a smaller
    base makes neighbouring places differ visibly. `n_kv_heads` is the decoder's.
    """

    d_model: int = 8
    n_layers: int = 2
    n_heads: int = 2
    n_kv_heads: int = 2
    d_ff: int = 32
    position_base: float = 100.0
    max_words: int = 12  # words read; each may be unknown, so this is the number of slots too

    def __post_init__(self) -> None:
        if self.d_model % self.n_heads:
            raise BadInput(f"{self.n_heads} heads cannot share {self.d_model} numbers evenly")
        if self.n_heads % self.n_kv_heads:
            raise BadInput(
                f"{self.n_kv_heads} key/value heads cannot serve {self.n_heads} query heads evenly"
            )

    @property
    def d_head(self) -> int:
        return self.d_model // self.n_heads

    @property
    def max_written(self) -> int:
        """Decode steps after which a sentence is stopped, finished or not."""
        return 2 * self.max_words
