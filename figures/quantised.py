"""Keys and values of the run before and after they were written in fewer bits."""

from typing import Any

import param

from figures.base import Figure, one_of_two

FORMATS = {
    "int8": "int8",
    "FP8": "fp8-e4m3",
    "FP4": "fp4",
    "KIVI 4-bit": "kivi-4",
    "KIVI 2-bit": "kivi-2",
}


class Quantised(Figure):
    store = param.Selector(default="int8", objects=FORMATS, label="Store", doc="How rows are kept.")
    kind = param.Selector(
        default="k", objects={"keys": "k", "values": "v"}, label="Rows", doc="Keys or values."
    )
    after = param.Selector(
        default="value",
        objects={"read back": "value", "codes": "units"},
        label="Show",
        doc="The numbers read back, or the codes that are stored.",
    )
    layer = one_of_two("Layer", "Which decoder layer's rows are shown.")
    head = one_of_two("Head", "Which head's rows are shown.")

    title = "Real rows, before and after"
    description = (
        "The keys or values of your sentence as computed, and beside them as a smaller store "
        "gives them back, or the codes it holds; below, the error and how far the logits moved."
    )
    sources = (
        "model.storage.quantised:Quantised.append",
        "model.storage.kivi:encode_groups",
        "model.storage.codecs.blocks:Fp4",
    )

    @classmethod
    def data(cls) -> dict[str, Any]:
        """Bits a number costs in each store, scales counted: here, and in a head of 128."""
        from model.toy.stored import BLOCK, FORMATS, WIDE  # noqa: PLC0415 -- loads torch

        return {
            "block": BLOCK,
            "wide": WIDE,
            "formats": {
                name: {
                    "label": form.label,
                    "here": form.bits_here,
                    "wide": form.bits_wide,
                    "arithmetic": form.arithmetic,
                }
                for name, form in FORMATS.items()
            },
        }
