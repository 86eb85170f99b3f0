"""Fixed-size blocks of cache memory: who holds each, and which is taken next."""

from collections.abc import Sequence

from model.errors import BadInput


class OutOfBlocksError(Exception):
    """More blocks were asked for than are free; nothing was taken."""


class BlockPool:
    """Counts the holders of every block; unheld blocks wait in a queue, longest unused first.

    Source: vllm-project/vllm vllm/v1/core/block_pool.py (free queue and its order).
    """

    def __init__(self, n_blocks: int) -> None:
        if n_blocks < 1:
            message = f"a pool of {n_blocks} blocks holds nothing: use at least 1"
            raise BadInput(message)
        self.references = [0] * n_blocks
        self._free = dict.fromkeys(range(n_blocks))  # an ordered set: any member leaves in O(1)

    def __len__(self) -> int:
        return len(self.references)

    @property
    def free(self) -> tuple[int, ...]:
        """Unheld blocks, the next one to be taken first."""
        return tuple(self._free)

    @property
    def n_free(self) -> int:
        return len(self._free)

    @property
    def n_used(self) -> int:
        return len(self) - self.n_free

    def can_allocate(self, n: int) -> bool:
        return n <= self.n_free

    def allocate(self, n: int) -> list[int]:
        """Take the `n` blocks unused for longest; all of them or none."""
        if not self.can_allocate(n):
            message = f"{n} blocks needed, {self.n_free} of {len(self)} free"
            raise OutOfBlocksError(message)
        blocks = list(self._free)[:n]
        self.share(blocks)
        return blocks

    def share(self, blocks: Sequence[int]) -> None:
        """Add one holder to each block; an unheld one leaves the queue with its content."""
        for block in blocks:
            self.references[block] += 1
            self._free.pop(block, None)

    def release(self, blocks: Sequence[int]) -> None:
        """Take one holder from each block, the last one first.

        So the tail of a text is reused before its beginning, which others may share.
        """
        for block in reversed(blocks):
            if self.references[block] == 0:
                message = f"block {block} is released but nobody holds it"
                raise ValueError(message)
            self.references[block] -= 1
            if self.references[block] == 0:
                self._free[block] = None
