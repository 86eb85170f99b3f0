"""The ways to keep one layer's keys and values, by name. Importing this loads torch.

`STORAGE[name](room, **options)`: ring takes window (and spare), sink-window and streaming
take window and sinks; the others need no option.
"""

from collections.abc import Callable
from functools import partial

from model.storage.base import Storage
from model.storage.codecs import CODECS
from model.storage.contiguous import Contiguous
from model.storage.growing import Growing
from model.storage.kivi import Kivi
from model.storage.quantised import Quantised
from model.storage.ring import Ring
from model.storage.sinks import SinkWindow, Streaming

STORAGE: dict[str, Callable[..., Storage]] = {
    "contiguous": Contiguous,
    "growing": Growing,
    "ring": Ring,
    "sink-window": SinkWindow,
    "streaming": Streaming,
    **{name: partial(Quantised, key=codec, value=codec) for name, codec in CODECS.items()},
    "kivi-2": partial(Kivi, n_bits=2),
    "kivi-4": partial(Kivi, n_bits=4),
}
