"""From a config.json, as people have it, to a `Model`: or a refusal that names what is missing."""

import difflib
from collections.abc import Mapping
from typing import Any

from model.errors import BadInput
from model.sizing import class_defaults
from model.sizing.families import encoder_decoder, generic
from model.sizing.families.remote import LIKE
from model.sizing.families.table import FAMILIES
from model.sizing.fields import UNNAMED, Fields
from model.sizing.layers import Layer, Model
from model.sizing.parameters.stored import weights_stored_as
from model.sizing.parameters.table import count_parameters

NESTED = (
    "text_config",
    "thinker_config",
    "llm_config",
    "language_config",
    "language_model_config",
    "lm_config",
    "text_model_config",
    "decoder",
)
SAME_CLASS = {"t5gemma": "t5_gemma_module"}
ENCODERS = (
    "albert",
    "bert",
    "camembert",
    "clip",
    "deberta",
    "deberta-v2",
    "distilbert",
    "electra",
    "ernie",
    "longformer",
    "modernbert",
    "mpnet",
    "roberta",
    "siglip",
    "vit",
    "xlm-roberta",
)
SUFFIXES = ("ForCausalLM", "ForConditionalGeneration", "LMHeadModel", "ModelForCausalLM", "Model")
MAX_LISTED = 8


def read_config(config: Mapping[str, Any], *, name: str = "", treat_as: str = "") -> Model:
    """The model a config.json describes.

    Parameters
    ----------
    config
        The parsed object.
    name
        What to call the model; the file's own name for itself when empty.
    treat_as
        A model type to read the file as, when its own is unknown.

    Raises
    ------
    BadInput
        When a size cannot be known from the file: the missing key is named.
    """
    values, model_type, notes = find_decoder(config, treat_as)
    fields = make_fields(values, model_type, outer=config)
    fields.assumed.update(notes)
    layers = list_layers(fields)
    parameters = count_parameters(fields, layers)
    warn_of_the_rest(fields, config, values)
    encoder_tokens = read_encoder_tokens(fields, layers)
    return Model(
        name=name or own_name(config) or model_type or "a config without a name",
        model_type=model_type,
        layers=tuple(layers),
        parameters=parameters,
        max_tokens=fields.peek("max_position_embeddings"),
        encoder_tokens=encoder_tokens,
        weights_stored_as=weights_stored_as(config),
        assumed=tuple(fields.assumed.values()),
        warnings=tuple(fields.warnings),
    )


def find_decoder(
    config: Mapping[str, Any], treat_as: str
) -> tuple[Mapping[str, Any], str, dict[str, str]]:
    """The object that describes the text decoder, its model type, and how the type was found."""
    notes: dict[str, str] = {}
    model_type = treat_as or config.get("model_type")
    if model_type is None:
        model_type = type_from_architectures(config, notes)
    if not isinstance(model_type, str):
        raise BadInput('model_type is not a string: it names the architecture, as in "llama"')
    inside = next((key for key in NESTED if isinstance(config.get(key), Mapping)), None)
    if model_type in FAMILIES and (inside is None or says_its_own_depth(config)):
        return config, model_type, notes
    if inside is not None:
        return inner_decoder(config, inside, model_type, notes)
    flat = class_defaults.inside(model_type).get("text_config", "")
    if flat in FAMILIES:
        return config, flat, notes
    if not model_type:
        return config, "", notes
    raise BadInput(unknown(model_type))


def says_its_own_depth(config: Mapping[str, Any]) -> bool:
    """Whether the sizes stand beside a nested config rather than in it."""
    return any(config.get(n) is not None for n in ("num_hidden_layers", "n_layer", "num_layers"))


def inner_decoder(
    config: Mapping[str, Any], key: str, outer: str, notes: dict[str, str]
) -> tuple[Mapping[str, Any], str, dict[str, str]]:
    """Step into a nested config; its type is its own, or the one its wrapper gives it."""
    inner = config[key]
    own = inner.get("model_type")
    if own is None:
        own = class_defaults.inside(outer).get(key)
        if own is None:
            own = type_from_architectures(inner, notes)
    if not isinstance(own, str):
        raise BadInput(f"{key}.model_type is not a string: it names the architecture")
    if outer == "t5gemma":
        return inner, "t5gemma", notes
    if own in FAMILIES:
        return inner, own, notes
    values, found, more = find_decoder({**inner, "model_type": own}, "")
    return values, found, {**notes, **more}


def type_from_architectures(config: Mapping[str, Any], notes: dict[str, str]) -> str:
    """The model type a class name such as LlamaForCausalLM stands for, or nothing."""
    named = config.get("architectures")
    if not isinstance(named, list) or not named or not isinstance(named[0], str):
        return ""
    stem = named[0]
    for suffix in SUFFIXES:
        stem = stem.removesuffix(suffix)
    plain = stem.lower()
    for known in (*FAMILIES, *class_defaults.model_types()):
        if known.replace("_", "").replace("-", "").lower() == plain:
            notes["model_type"] = f"model_type = {known} (from architectures: {named[0][:40]})"
            return known
    return ""


def make_fields(values: Mapping[str, Any], model_type: str, *, outer: Mapping[str, Any]) -> Fields:
    like = SAME_CLASS.get(model_type) or LIKE.get(model_type)
    defaults = class_defaults.defaults(like or model_type)
    if like and model_type not in SAME_CLASS:  # another model's numbers are no default for this one
        defaults = {k: v for k, v in defaults.items() if isinstance(v, (bool, str))}
    return Fields(
        values=values,
        model_type=model_type or UNNAMED,
        class_type=like or model_type,
        defaults=defaults,
        class_names=class_defaults.names(like or model_type),
        nested=values is not outer,
        outer=outer,
    )


def list_layers(fields: Fields) -> list[Layer]:
    family = FAMILIES.get(fields.model_type, generic.plain_decoder)
    layers = family(fields)
    wrapped = fields.outer.get("model_type") in encoder_decoder.WRAPPERS
    if wrapped and not any(layer.cross_rows for layer in layers):
        return [encoder_decoder.crossing(layer) for layer in layers]
    return layers


def read_encoder_tokens(fields: Fields, layers: list[Layer]) -> int | None:
    """How long the source is taken to be when the reader does not say."""
    if not any(layer.cross_rows for layer in layers):
        return None
    if fields.outer.get("model_type") in encoder_decoder.WRAPPERS:
        return None  # the encoder is another model: its length is the reader's to say
    found = encoder_decoder.source_length(fields)
    return None if found is None else found[0]


def warn_of_the_rest(fields: Fields, config: Mapping[str, Any], values: Mapping[str, Any]) -> None:
    """Say what this reading leaves out."""
    towers = [k for k in ("vision_config", "audio_config") if isinstance(config.get(k), Mapping)]
    if towers and values is not config:
        fields.warn(f"{' and '.join(towers)} not counted: the text decoder alone is")
    extra = fields.values.get("num_nextn_predict_layers")
    if isinstance(extra, int) and not isinstance(extra, bool) and extra > 0:
        fields.warn(
            f"{extra} multi-token prediction layer(s) not counted: they keep a cache only when "
            "used for speculation"
        )


def own_name(config: Mapping[str, Any]) -> str:
    value = config.get("_name_or_path") or config.get("name_or_path")
    return value[:80] if isinstance(value, str) else ""


def unknown(model_type: str) -> str:
    if model_type in ENCODERS:
        return f"{model_type} is an encoder: it reads its text at once and keeps no cache"
    shown = model_type[:40]
    near = difflib.get_close_matches(model_type, FAMILIES, n=3, cutoff=0.6)
    hint = f"; near: {', '.join(near)}" if near else ""
    return (
        f"model_type {shown!r} is not known, so what its layers keep is not known either{hint}. "
        "If it is built like a known one, say so with --as TYPE"
    )
