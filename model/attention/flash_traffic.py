"""How many numbers attention moves between memory and chip, with and without blocks.

A counting model of the forward pass: it saves traffic, not arithmetic (4 N^2 d FLOPs either
way). Source: FlashAttention, arXiv 2205.14135, theorem 2 and algorithm 1.
"""

from model.errors import BadInput


def standard_traffic(tokens: int, width: int) -> int:
    """Read q, k, v and write the output; write and read scores, then weights: 4Nd + 4N^2."""
    return 4 * tokens * width + 4 * tokens**2


def key_blocks(tokens: int, width: int, on_chip: int) -> int:
    """Blocks of keys when the chip holds `on_chip` numbers: each takes a quarter of them."""
    if not width <= on_chip:
        message = f"{on_chip} numbers on the chip do not hold a row of {width}: use more"
        raise BadInput(message)
    block = -(-on_chip // (4 * width))
    return -(-tokens // block)


def flash_traffic(tokens: int, width: int, on_chip: int) -> int:
    """Keys and values once; queries in, outputs in and out again for every block of keys.

    >>> standard_traffic(4096, 64), flash_traffic(4096, 64, on_chip=51_200)
    (68157440, 17039360)
    """
    blocks = key_blocks(tokens, width, on_chip)
    return 2 * tokens * width + 3 * blocks * tokens * width
