"""The ways to keep one layer's keys and values, by name. Importing this loads torch."""

from model.storage.base import Storage
from model.storage.contiguous import Contiguous
from model.storage.growing import Growing

STORAGE: dict[str, type[Storage]] = {
    "contiguous": Contiguous,
    "growing": Growing,
}
