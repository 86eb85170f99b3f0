"""The projection weights the tooltips multiply with, as shipped (read without torch)."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import model
from figures.recording import packed

SHIPPED = Path(model.__file__).with_name("toy") / "weights.json"
N_LAYERS, N_HEADS, D_MODEL, D_HEAD = 2, 2, 8, 4


@cache
def projections() -> dict[str, Any]:
    """W_Q, W_K, W_V of the decoder and W_K, W_V of its cross-attention: [layer, head, 8, 4]."""
    numbers = json.loads(SHIPPED.read_text(encoding="utf-8"))
    qkv = np.stack([_heads(numbers[f"decoder.{i}.qkv"]) for i in range(N_LAYERS)])
    cross = np.stack([_heads(numbers[f"decoder.{i}.cross_kv"]) for i in range(N_LAYERS)])
    return packed(
        {
            "w.q": qkv[:, :N_HEADS],
            "w.k": qkv[:, N_HEADS : 2 * N_HEADS],
            "w.v": qkv[:, 2 * N_HEADS :],
            "w.cross.k": cross[:, :N_HEADS],
            "w.cross.v": cross[:, N_HEADS:],
        }
    )


def _heads(flat: list[float]) -> np.ndarray:
    """A stored matrix [8, blocks * 4] as one [8, 4] block a head."""
    matrix = np.array(flat).reshape(D_MODEL, -1)
    return matrix.reshape(D_MODEL, -1, D_HEAD).transpose(1, 0, 2)
