"""The work of a real model, from the same config reading and layer list as its cache size."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from model.errors import BadInput
from model.sizing.catalogue import find
from model.sizing.families.encoder_decoder import source_length
from model.sizing.fields import Fields
from model.sizing.layers import Layer
from model.sizing.parameters.chosen import CHOSEN
from model.sizing.parameters.decoder import Recipe
from model.sizing.parameters.recipes import RECIPES
from model.sizing.read_config import find_decoder, list_layers, make_fields
from model.sizing.work import compressed, decoders, encoder_decoder, gemma, latent
from model.sizing.work.parts import Body, Count
from model.work import ModelWork

WORKS: Mapping[str, Count] = {
    **latent.WORKS,
    **decoders.WORKS,
    **gemma.WORKS,
    **compressed.WORKS,
}


@cache
def work_of(name: str, source: int | None = None) -> ModelWork:
    """Count a catalogue model, matched as leniently as for its size.

    `source` is the length of an encoder's text; the model's own unless given.
    """
    entry = find(name)
    return work_of_config(entry.config, name=entry.name, source=source or entry.encoder_tokens)


def work_of_config(config: Mapping[str, Any], *, name: str, source: int | None = None) -> ModelWork:
    """Count a config.json.

    Raises BadInput for a model type whose matrices are not known: its work is not guessed.
    """
    values, model_type, _ = find_decoder(config, "")
    fields = make_fields(values, model_type, outer=config)
    body = _body(fields, list_layers(fields), name, source)
    return ModelWork(
        name=name,
        layers=body.layers,
        head=fields.defining("hidden_size") * fields.defining("vocab_size"),
        table=body.table,
        ends=body.ends,
        encoder=body.encoder,
        assumed=body.assumed,
    )


def _body(fields: Fields, layers: list[Layer], name: str, source: int | None) -> Body:
    crossed = encoder_decoder.WORKS.get(fields.model_type)
    if crossed is not None:
        return crossed(fields, layers, _source_tokens(fields, source))
    recipe, count = _recipe(fields), WORKS.get(fields.model_type)
    if count is None and recipe is not None and all(_is_attention(layer) for layer in layers):
        count = decoders.attention_decoder(recipe)
    if count is None:
        message = (
            f"the work of {name} is not counted: {len(layers)} layers of {fields.model_type}, "
            "whose matrices are not known here; choose a model of another type"
        )
        raise BadInput(message)
    return count(fields, layers)


def _source_tokens(fields: Fields, source: int | None) -> int:
    found = source_length(fields)
    if source is None and found is None:
        message = f"{fields.model_type} has 1 encoder and 0 known source lengths: give a source"
        raise BadInput(message)
    return source or (found[0] if found else 0)


def _recipe(fields: Fields) -> Recipe | None:
    if fields.model_type in CHOSEN:
        return CHOSEN[fields.model_type](fields)
    return RECIPES.get(fields.model_type)


def _is_attention(layer: Layer) -> bool:
    every_token = all(rows.every == 1 for rows in layer.rows)
    extra = layer.states or layer.cross_rows
    return every_token and not extra and layer.query_heads is not None
