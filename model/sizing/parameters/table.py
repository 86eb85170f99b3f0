"""Which way of counting weights a model type takes."""

from collections.abc import Callable, Mapping

from model.sizing.fields import Fields, Missing
from model.sizing.layers import Layer
from model.sizing.parameters import compressed, decoder, encoder_decoder, gemma, hybrids, latent
from model.sizing.parameters.chosen import CHOSEN
from model.sizing.parameters.recipes import RECIPES

Count = Callable[[Fields, list[Layer]], int]
COUNTS: Mapping[str, Count] = {
    **latent.COUNTS,
    **hybrids.COUNTS,
    **gemma.COUNTS,
    **compressed.COUNTS,
    **encoder_decoder.COUNTS,
}


def count_parameters(fields: Fields, layers: list[Layer]) -> int | None:
    """Every weight of the text model, or None with a warning that says why not."""
    try:
        return counted(fields, layers)
    except Missing as missing:
        fields.warn(f"weights not counted: {missing}")
        return None


def counted(fields: Fields, layers: list[Layer]) -> int | None:
    own = COUNTS.get(fields.model_type)
    if own is not None:
        return own(fields, layers)
    recipe = RECIPES.get(fields.model_type)
    if recipe is None and fields.model_type in CHOSEN:
        recipe = CHOSEN[fields.model_type](fields)
    if recipe is None:
        fields.warn(f"weights not counted: no recipe for {fields.model_type}")
        return None
    return decoder.count(fields, layers, recipe)
