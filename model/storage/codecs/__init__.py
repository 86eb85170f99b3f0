"""The ways to write one row of numbers in fewer bytes, by name. Importing this loads torch."""

from model.storage.codecs.base import Codec
from model.storage.codecs.blocks import Fp4, Mx
from model.storage.codecs.fp8 import Fp8, ScaledFp8
from model.storage.codecs.int8 import Int8
from model.storage.codecs.minifloat import E2M1, E4M3, E5M2

CODECS: dict[str, Codec] = {
    "int8": Int8(),
    "fp8-e4m3": Fp8(E4M3),
    "fp8-e5m2": Fp8(E5M2),
    "fp8-e4m3-scaled": ScaledFp8(E4M3),
    "fp8-e5m2-scaled": ScaledFp8(E5M2),
    "fp4": Fp4(),
    "mxfp4": Mx(E2M1),
    "mxfp8": Mx(E4M3),
}
