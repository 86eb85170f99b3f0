"""A matrix times a few rows: the same weights laid out for the memory bus of this machine.

Decoding one token reads every weight once, so the layout decides the speed. Milliseconds for
all matrices of SmolLM2-135M times one row, torch 2.13 on an AMD EPYC with AVX512-BF16:

    layout    float32, 1 and 2 threads    bfloat16, 1 and 2 threads
    OutIn             52   50                     36   22
    InOut             37   35                     40   24
    Packed            41   26                     20   13
    Streamed          26   20                      -    -

Streamed takes its cores from PyTorch for as long as a row lasts (`cores_to_blas`): two
sets of waiting threads on the same cores cost ten times what they save.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import torch
from jaxtyping import Float
from threadpoolctl import ThreadpoolController
from torch import Tensor
from torch.nn.functional import linear

Weight = Float[Tensor, "d_out d_in"]
Bias = Float[Tensor, " d_out"]
Rows = Float[Tensor, "*rows d_in"]
Outputs = Float[Tensor, "*rows d_out"]
InRow = Float[np.ndarray, " d_in"]
OutRow = Float[np.ndarray, " d_out"]


class Linear(ABC):
    """One projection without gradients. `nbytes` is what a decode step must read of it."""

    def __init__(self, weight: Weight, bias: Bias | None = None) -> None:
        self.bias = bias
        self.nbytes = weight.nbytes + (0 if bias is None else bias.nbytes)

    @abstractmethod
    def __call__(self, x: Rows) -> Outputs:
        """Project every row."""

    def row(self, x: InRow) -> OutRow:
        """Project one row that NumPy holds."""
        return self(torch.from_numpy(x)[None])[0].numpy()


class OutIn(Linear):
    """Weights as files have them, one row per output channel. GPUs and float16 like it."""

    def __init__(self, weight: Weight, bias: Bias | None = None) -> None:
        super().__init__(weight, bias)
        self.weight = weight

    def __call__(self, x: Rows) -> Outputs:
        return linear(x, self.weight, self.bias)


class InOut(Linear):
    """Transposed once at load: a single float32 row then streams through whole memory rows."""

    def __init__(self, weight: Weight, bias: Bias | None = None) -> None:
        super().__init__(weight, bias)
        self.weight = weight.t().contiguous()

    def __call__(self, x: Rows) -> Outputs:
        product = x @ self.weight
        return product if self.bias is None else product + self.bias


class Streamed(Linear):
    """A single row goes through NumPy's BLAS, which reads the matrix nearly at memory speed.

    The longer side lies along memory, whichever it is: few long runs stream better than many
    short ones. Both libraries look at the same numbers; several rows go through PyTorch's.
    """

    def __init__(self, weight: Weight, bias: Bias | None = None) -> None:
        super().__init__(weight, bias)
        d_out, d_in = weight.shape
        self.weight = weight.contiguous().t() if d_in > d_out else weight.t().contiguous()
        self.matrix = self.weight.numpy()
        self.bias_row = None if bias is None else bias.numpy()

    def __call__(self, x: Rows) -> Outputs:
        if x.shape[:-1].numel() == 1:
            return torch.from_numpy(self.row(x.flatten().numpy())).view(*x.shape[:-1], -1)
        product = x @ self.weight
        return product if self.bias is None else product + self.bias

    def row(self, x: InRow) -> OutRow:
        product = x @ self.matrix
        return product if self.bias_row is None else product + self.bias_row


class Packed(Linear):
    """Blocked by oneDNN once at load, as torch.compile does when it freezes weights."""

    def __init__(self, weight: Weight, bias: Bias | None = None) -> None:
        super().__init__(weight, bias)
        self.weight = torch.ops.mkldnn._reorder_linear_weight(weight.contiguous(), 1)  # noqa: SLF001 - inductor's operator
        self.multiply = torch.ops.mkldnn._linear_pointwise.default  # noqa: SLF001

    def __call__(self, x: Rows) -> Outputs:
        return self.multiply(x, self.weight, self.bias, "none", [], "")


class Widened(OutIn):
    """16-bit weights on a processor that multiplies only single 16-bit rows fast.

    Several rows (prefill) are multiplied in float32: widening costs less than what it saves.
    """

    def __call__(self, x: Rows) -> Outputs:
        if x.shape[:-1].numel() == 1:
            return super().__call__(x)
        bias = None if self.bias is None else self.bias.float()
        return linear(x.float(), self.weight.float(), bias).to(x.dtype)


MakeLinear = Callable[[Weight, Bias | None], Linear]

LAYOUTS: dict[str, type[Linear]] = {
    "out-in": OutIn,
    "in-out": InOut,
    "streamed": Streamed,
    "packed": Packed,
    "widened": Widened,
}


def fastest_layout(
    dtype: torch.dtype,
    device: torch.device,
    packs: Callable[[torch.dtype], bool] | None = None,
) -> type[Linear]:
    """Pick the layout that measured fastest (the table above); never by a race at load time.

    So the same machine always sums in the same order, and greedy text repeats. packs: whether
    the processor multiplies blocked weights of a type (`has_packed`, unless a test says else).
    """
    packs = packs or has_packed
    if in_numpy(dtype, device):
        return Streamed
    if device.type == "cpu" and dtype == torch.bfloat16:
        return Packed if packs(dtype) else Widened
    return OutIn


def in_numpy(dtype: torch.dtype, device: torch.device) -> bool:
    """Say whether NumPy can look at such tensors in place, and compute with them fast."""
    return device.type == "cpu" and dtype in {torch.float32, torch.float64}


BLAS = ThreadpoolController().select(user_api="blas")
"""NumPy's own; it is loaded by now."""


@contextmanager
def cores_to_blas() -> Iterator[None]:
    """Give NumPy's BLAS the cores that PyTorch has, and keep PyTorch to the caller's thread."""
    n_threads = torch.get_num_threads()
    with one_thread(), BLAS.limit(limits=n_threads):
        yield


@contextmanager
def one_thread() -> Iterator[None]:
    """Keep PyTorch to the caller's thread: its others spin where somebody else wants to work."""
    n_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(n_threads)


def has_packed(dtype: torch.dtype) -> bool:
    """Say whether oneDNN is there, and for bfloat16 whether the processor multiplies it."""
    if not torch.backends.mkldnn.is_available():
        return False
    if not hasattr(torch.ops.mkldnn, "_linear_pointwise"):
        return False
    return dtype == torch.float32 or torch.ops.mkldnn._is_mkldnn_bf16_supported()  # noqa: SLF001
