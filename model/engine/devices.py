"""Where to run and in which precision, and whether it fits before it is tried."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import torch

from model.errors import BadInput

DTYPES = {
    "float32": torch.float32,
    "bfloat16": torch.bfloat16,
    "float16": torch.float16,
    "float64": torch.float64,
}
DEVICES = ("cpu", "cuda", "mps")

CGROUP = Path("/sys/fs/cgroup")


def choose_device(name: str | None = None) -> torch.device:
    """Return the device of this name, or the fastest there is. Raises BadInput if not there."""
    there = {
        "cuda": torch.cuda.is_available(),
        "mps": torch.backends.mps.is_available(),
        "cpu": True,
    }
    if name is None:
        return torch.device(next(device for device, is_there in there.items() if is_there))
    if name not in there:
        message = f"{name!r} is no device: choose from {', '.join(DEVICES)}"
        raise BadInput(message)
    if not there[name]:
        found = ", ".join(device for device, is_there in there.items() if is_there)
        message = f"this machine has no usable {name} device: it has {found}"
        raise BadInput(message)
    return torch.device(name)


def choose_dtype(name: str | None, device: torch.device) -> torch.dtype:
    """Return the precision of this name; without one float32 on a CPU, bfloat16 elsewhere."""
    if name is None:
        return torch.float32 if device.type == "cpu" else torch.bfloat16
    if name not in DTYPES:
        message = f"{name!r} is no precision: choose from {', '.join(DTYPES)}"
        raise BadInput(message)
    if name == "float64" and device.type == "mps":
        message = "an mps device has no float64: use float32, or --device cpu"
        raise BadInput(message)
    return DTYPES[name]


def free_bytes(device: torch.device) -> int | None:
    """Return the memory that could still be taken, None where the system does not say."""
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    if device.type == "mps":
        return torch.mps.recommended_max_memory() - torch.mps.driver_allocated_memory()
    known = [n for n in (system_free_bytes(), cgroup_free_bytes()) if n is not None]
    return min(known, default=None)


def system_free_bytes() -> int | None:
    """Return what the kernel calls available: free memory and what caches would give back."""
    with contextlib.suppress(OSError, StopIteration, ValueError):
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        kib = next(line.split()[1] for line in lines if line.startswith("MemAvailable"))
        return int(kib) * 1024
    if "SC_AVPHYS_PAGES" in os.sysconf_names:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return None


def cgroup_free_bytes() -> int | None:
    """Return what a container's limit leaves, None without a limit."""
    with contextlib.suppress(OSError, ValueError):
        limit = int((CGROUP / "memory.max").read_text(encoding="ascii"))
        return limit - int((CGROUP / "memory.current").read_text(encoding="ascii"))
    return None


def check_fits(n_bytes: int, device: torch.device, what: str) -> None:
    """Refuse what would not fit, instead of letting the system end the process."""
    free = free_bytes(device)
    if free is not None and n_bytes > free:
        message = (
            f"out of memory: {what} take {n_bytes / 2**30:.1f} GiB, {device} has "
            f"{free / 2**30:.1f} GiB free"
        )
        raise BadInput(message)


@contextlib.contextmanager
def out_of_memory_as_bad_input() -> Iterator[None]:
    """Turn a failed allocation into one line; the process lives on."""
    try:
        yield
    except (torch.OutOfMemoryError, MemoryError) as error:
        raise BadInput(OUT_OF_MEMORY) from error
    except RuntimeError as error:
        if "can't allocate memory" not in str(error) and "out of memory" not in str(error):
            raise
        raise BadInput(OUT_OF_MEMORY) from error


OUT_OF_MEMORY = "out of memory: use a shorter context, a smaller batch or bfloat16"
