"""Text to token ids and back: Hugging Face's `tokenizers`, also rebuilt from GGUF metadata."""

# ruff: noqa: PLC0415 - readers are an extra, imported where they are used

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from model.errors import BadInput

if TYPE_CHECKING:  # an extra: imported where it is used
    from tokenizers import Tokenizer
    from tokenizers.pre_tokenizers import PreTokenizer

CONTROL = 3
"""The token type of GGUF that marks control tokens (`<|im_end|>`), never made from text."""

LLAMA3_WORDS = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
QWEN2_WORDS = LLAMA3_WORDS.replace(r"\p{N}{1,3}", r"\p{N}")


@dataclass(frozen=True, kw_only=True)
class TextTokenizer:
    """A tokenizer with the two things a prompt needs: the first token, and the chat wording."""

    tokens: "Tokenizer"
    bos: int | None = None
    chat_template: str | None = None

    def encode(self, text: str) -> list[int]:
        """Turn text into ids, with the first token the model was trained to see, if any."""
        return self.tokens.encode(text).ids

    def decode(self, ids: Sequence[int]) -> str:
        """Turn ids into text; control tokens are left out."""
        return self.tokens.decode(list(ids))

    def encode_chat(self, question: str) -> list[int]:
        """Wrap a question in the model's own chat wording, ready for its answer."""
        if self.chat_template is None:
            message = "this model has no chat template: give a text to continue instead"
            raise BadInput(message)
        environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
        bos = "" if self.bos is None else self.tokens.id_to_token(self.bos)
        said = [{"role": "user", "content": question}]
        try:
            text = environment.from_string(self.chat_template).render(
                messages=said, add_generation_prompt=True, bos_token=bos
            )
        except TemplateError as error:
            message = f"the model's chat template cannot be used: {error}"
            raise BadInput(message) from error
        return self.tokens.encode(text, add_special_tokens=False).ids


def from_file(path: Path, settings: Mapping[str, Any]) -> TextTokenizer:
    """Read a `tokenizer.json`; `settings` is its `tokenizer_config.json`, or nothing."""
    from tokenizers import Tokenizer

    try:
        tokens = Tokenizer.from_file(str(path))
    except Exception as error:  # the Rust side raises bare Exception
        message = f"{path} is no tokenizer: {error}"
        raise BadInput(message) from error
    bos = settings.get("bos_token")
    name = bos.get("content") if isinstance(bos, dict) else bos
    template = settings.get("chat_template")
    return TextTokenizer(
        tokens=tokens,
        bos=None if name is None else tokens.token_to_id(name),
        chat_template=template if isinstance(template, str) else None,
    )


def from_gguf(metadata: Mapping[str, Any]) -> TextTokenizer:
    """Rebuild a byte-level BPE tokenizer from `tokenizer.ggml.*`.

    Raises BadInput for SentencePiece vocabularies and unknown ways to cut text into words.
    """
    from tokenizers import AddedToken, Tokenizer, decoders, models

    kind = metadata.get("tokenizer.ggml.model")
    if kind != "gpt2":
        message = (
            f"the GGUF's tokenizer is {kind!r}: only byte-level BPE ('gpt2') is rebuilt; "
            "use the model's Hugging Face folder with its tokenizer.json"
        )
        raise BadInput(message)
    pieces = metadata["tokenizer.ggml.tokens"]
    pairs = [tuple(pair.split(" ")) for pair in metadata["tokenizer.ggml.merges"]]
    tokens = Tokenizer(models.BPE(vocab={p: i for i, p in enumerate(pieces)}, merges=pairs))
    tokens.pre_tokenizer = pre_tokenizer(metadata.get("tokenizer.ggml.pre", "default"))
    tokens.decoder = decoders.ByteLevel()
    kinds = metadata.get("tokenizer.ggml.token_type", [])
    control = [p for p, kind in zip(pieces, kinds, strict=False) if kind == CONTROL]
    tokens.add_special_tokens([AddedToken(p, special=True, normalized=False) for p in control])
    bos = metadata.get("tokenizer.ggml.bos_token_id")
    if metadata.get("tokenizer.ggml.add_bos_token") and bos is not None:
        put_first(tokens, pieces[bos], bos)
    return TextTokenizer(
        tokens=tokens, bos=bos, chat_template=metadata.get("tokenizer.chat_template")
    )


def pre_tokenizer(name: str) -> "PreTokenizer":
    """Return the way a family cuts text into words before merging bytes (llama.cpp's names)."""
    from tokenizers import Regex
    from tokenizers.pre_tokenizers import ByteLevel, Digits, Sequence, Split

    byte_level = ByteLevel(add_prefix_space=False, use_regex=False)
    gpt2 = ByteLevel(add_prefix_space=False, use_regex=True)
    known = {
        "gpt-2": gpt2,
        "smollm": Sequence([Digits(individual_digits=True), gpt2]),
        "llama-bpe": Sequence([Split(Regex(LLAMA3_WORDS), "isolated"), byte_level]),
        "qwen2": Sequence([Split(Regex(QWEN2_WORDS), "isolated"), byte_level]),
    }
    if name not in known:
        message = f"the GGUF cuts words the {name!r} way: only {', '.join(known)} are rebuilt"
        raise BadInput(message)
    return known[name]


def put_first(tokens: "Tokenizer", piece: str, token: int) -> None:
    """Make every encoded text begin with one token."""
    from tokenizers.processors import TemplateProcessing

    tokens.post_processor = TemplateProcessing(
        single=[piece, "$A"], pair=[piece, "$A", "$B"], special_tokens=[(piece, token)]
    )
