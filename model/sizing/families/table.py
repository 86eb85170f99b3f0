"""Every model type the calculator knows, and the function that lists its layers."""

from collections.abc import Mapping

from model.sizing.families import (
    compressed,
    dense,
    encoder_decoder,
    grouped,
    linear,
    mamba,
    mla,
    recurrent,
    remote,
    shared,
    uneven,
)
from model.sizing.families.dense import Family

FAMILIES: Mapping[str, Family] = {
    **dense.FAMILIES,
    **uneven.FAMILIES,
    **grouped.FAMILIES,
    **mla.FAMILIES,
    **compressed.FAMILIES,
    **mamba.FAMILIES,
    **linear.FAMILIES,
    **recurrent.FAMILIES,
    **shared.FAMILIES,
    **remote.FAMILIES,
    **encoder_decoder.FAMILIES,
}
