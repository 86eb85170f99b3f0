"""Why other calculators differ: public wrong answers, each beside the right one, computed here.

Every entry is a public report (an issue, a pull request, a page); `right` recomputes the answer
with this calculator when it is asked for. An answer that was right is kept as a check, and is not
counted among those that differ.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from model.sizing import catalogue
from model.sizing.alternatives import without_grouping
from model.sizing.formats import FORMATS
from model.sizing.kinds import Heads, full
from model.sizing.layers import Model, Rows
from model.sizing.question import Question
from model.sizing.size import size
from model.sizing.units import UNITS

FIGURE = re.compile(r"([\d,]*\d(?:\.\d+)?)\s*([a-zA-Z]*)")


@dataclass(frozen=True, kw_only=True)
class Complaint:
    """One public answer: who gave it to which question, what is right, and why they differ."""

    key: str
    source: str
    asked: str
    answered: str
    right: Callable[[], int]
    unit: str
    why: str

    @property
    def differs(self) -> bool:
        """Whether no figure that was answered is the right one, at as many places as it has."""
        figures = FIGURE.findall(self.answered)
        return not any(agrees(number, unit, self.right()) for number, unit in figures)


def agrees(number: str, unit: str, right: int) -> bool:
    """Whether `right` is written so: "640", "MiB" for 671,088,640.

    >>> agrees("640", "MiB", 640 * 2**20), agrees("81.38", "GiB", 10 * 2**30)
    (True, False)
    """
    places = len(number.partition(".")[2])
    scale = UNITS.get(unit.lower(), 1)
    return f"{right / scale:,.{places}f}" == number


def per_token(name: str) -> Callable[[], int]:
    return lambda: int(size(catalogue.load(name), Question(tokens=1)).bytes_per_token_first)


def latent_alone(name: str) -> Callable[[], int]:
    """A token's latents and rotary keys in 16 bits, the indexer's keys left out."""
    return lambda: sum(
        2 * r.numbers
        for layer in catalogue.load(name).layers
        for r in layer.rows
        if r.role != "index"
    )


def at(
    name: str, tokens: int, engine: str = "ideal", *, batch: int | None = None
) -> Callable[[], int]:
    """What grows, at so many tokens (states and cross-attention left out)."""

    def right() -> int:
        question = Question(tokens=tokens, engine=engine, prefill_batch=batch)
        answer = size(catalogue.load(name), question)
        return answer.cache_bytes - answer.fixed_bytes

    return right


def quantised(name: str, fmt: str) -> Callable[[], int]:
    question = Question(tokens=1, k_format=fmt, v_format=fmt)
    return lambda: int(size(catalogue.load(name), question).bytes_per_token_first)


def parameters(name: str) -> Callable[[], int]:
    return lambda: catalogue.load(name).parameters or 0


def one_layer_numbers(name: str) -> Callable[[], int]:
    return lambda: int(catalogue.load(name).layers[0].numbers_per_token)


def gemma_like() -> int:
    """One layer with 8 key/value heads of 256, whatever 3,584 / 16 is."""
    heads = Heads(query=16, kv=8, key_width=256, value_width=256)
    model = Model(name="one layer", model_type="gemma2", layers=(full(0, heads),), parameters=None)
    return size(model, Question(tokens=1)).cache_bytes


def four_bits_flat() -> int:
    """DeepSeek-V3 at 65,536 tokens if four bits had no scales."""
    numbers = sum(layer.numbers_per_token for layer in catalogue.load("DeepSeek-V3").layers)
    return int(Fraction(numbers) * 65_536 / 2)


def cross_alone() -> int:
    return size(catalogue.load("Whisper large-v3"), Question(tokens=0)).fixed_bytes


def without_groups_at(name: str, tokens: int) -> Callable[[], int]:
    return lambda: size(without_grouping(catalogue.load(name)), Question(tokens=tokens)).cache_bytes


def nvfp4_numbers() -> int:
    return FORMATS["nvfp4"].n_bytes(Rows(name="key", role="key", width=128), 1)


def nvfp4_page() -> int:
    rows = Rows(name="key", role="key", width=128, heads=8)
    return 2 * FORMATS["nvfp4"].n_bytes(rows, 16)


B, NUMBERS, WEIGHTS = "bytes", "numbers", "weights"
RAW: tuple[tuple[str, str, str, str, Callable[[], int], str, str], ...] = (
    ("B1", "LMCache/LMCache#688", "Qwen3-4B, one token, bf16", "92,160 B",
     per_token("Qwen3-4B"), B, "head_dim is 128 in the file; hidden size over heads is 80"),
    ("B2", "LMCache/LMCache#694", "DeepSeek-V3, one token, bf16", "124,928 B",
     per_token("DeepSeek-V3"), B, "a latent is stored once, and its rotary key with it"),
    ("B3", "LMCache/LMCache#2132", "DeepSeek-R1, one token, bf16", "1,748,992 B",
     per_token("DeepSeek-R1"), B, "the latent was counted for the V3 by name, heads for others"),
    ("B4", "LMCache/LMCache#2248", "GLM-4.5, one token, bf16", "157,013.3 B",
     per_token("GLM-4.5"), B, "head_dim is 128; 5,120 over 96 heads is not even whole"),
    ("B6", "NVIDIA/Model-Optimizer#2482", "gpt-oss-20b, numbers a layer and token", "720",
     one_layer_numbers("gpt-oss-20b"), NUMBERS, "head_dim is 64; 2,880 over 64 heads is 45"),
    ("B8", "ai-dynamo/dynamo#14431", "a layer like Gemma 2 9B's, one token, bf16", "7,168 B",
     gemma_like, B, "head_dim is 256; 3,584 over 16 heads is 224"),
    ("B9", "NVIDIA/TensorRT-LLM#16707", "DeepSeek-V3.2, latent alone, one token", "1,748,992 B",
     latent_alone("DeepSeek-V3.2"), B, "128 heads were counted, and there is one latent"),
    ("B10", "jranaraki/vllm-fit#2", "Llama 2 7B, one token, fp16", "4,194,304 B",
     per_token("Llama 2 7B"), B, "heads were counted twice, through the hidden size as well"),
    ("B11", "alvarobartt/hf-mem#60", "gpt-oss-120b, one token, bf16", "36,864 B",
     per_token("gpt-oss-120b"), B, "windowed layers grow too until 128 tokens are in them"),
    ("B13", "ollama/ollama#17037", "Gemma 3 4B in llama.cpp, 131,072 cells, f16", "3.0 GB",
     at("Gemma 3 4B", 131_072, "llama.cpp"), B, "one of two buffers was read from the log"),
    ("B15", "unslothai/unsloth#4757", "Gemma 3 27B, 131,072 tokens, f16", "81.38 GiB",
     at("Gemma 3 27B", 131_072), B, "52 of 62 layers keep 1,024 tokens"),
    ("B16", "unslothai/unsloth#4757", "DeepSeek-V3.1, 163,840 tokens", "2.08 GiB",
     at("DeepSeek-V3.1", 163_840), B, "the width of a latent is 512 + 64, in 61 layers"),
    ("B18", "unslothai/unsloth#4757", "Qwen3-0.6B, 40,960 tokens", "2.19 GiB",
     at("Qwen3-0.6B", 40_960), B, "head_dim is 128; hidden size over heads is 64"),
    ("B19", "unslothai/unsloth#4757", "Qwen3.5-27B, 262,144 tokens", "53.25 GiB",
     at("Qwen3.5-27B", 262_144), B, "16 of 64 layers have keys and values"),
    ("B22", "gpustack/gguf-parser-go#28", "Qwen3.6-35B-A3B, one token, f16", "81,920 B",
     per_token("Qwen3.6-35B-A3B"), B, "10 of 40 layers have keys and values"),
    ("B23", "gpustack/gguf-parser-go#31", "LFM2-1.2B, 32,768 tokens, f16", "0 B",
     at("LFM2-1.2B", 32_768), B, "the first layer's head count, which is 0, stood for all"),
    ("B24", "gpustack/gguf-parser-go#8", "DeepSeek-V3, 65,536 tokens, 4 bits", "17.875 MB",
     four_bits_flat, B, "one layer of 61 was counted; q4_0 takes 4.5 bits besides"),
    ("B25", "lmstudio-ai/lmstudio-bug-tracker#1862", "Qwen3.6-27B, 262,144 cells, f16", "75 GB",
     at("Qwen3.6-27B", 262_144), B, "16 of 64 layers have keys and values"),
    ("B27", "lablup/mlxcel#927", "SantaCoder, 8,192 tokens, fp16", "0 B, or 1.5 GiB",
     at("SantaCoder", 8_192), B, "one head for all queries, said by a boolean, n_layer for layers"),
    ("B29", "tobocop2/lilbee#740", "Qwen3.6-27B, one token, q4_0", "131,072 B, then 73,728 B",
     quantised("Qwen3.6-27B", "q4_0"), B, "16 of 64 layers, at 18 bytes for 32 numbers"),
    ("B30", "ai-dynamo/aiconfigurator#391", "128 numbers in NVFP4", "64 B",
     nvfp4_numbers, B, "16 numbers share a scale of one byte"),
    ("B31", "NVIDIA/TensorRT-LLM#19514", "Whisper large-v3, cross-attention, fp16", "for 1,024",
     cross_alone, B, "the encoder gives 1,500 positions whatever the audio"),
    ("B32", "huggingface/blog#2345", "Llama 3.1 405B, 128,000 tokens, fp16", "123.05 GB",
     at("Llama 3.1 405B", 128_000), B, "16 key/value heads were counted, and there are 8"),
    ("B34", "rohitg00/ai-engineering-from-scratch#57", "a 70B of 64 heads, 32,768 tokens, fp16",
     "32 GB", without_groups_at("Llama 2 70B", 32_768), B, "keys and values of every head"),
    ("B35", "ggufvram.radicchio.page", "Llama 70B, 131,072 tokens", "64 GB",
     at("Llama 3.1 70B", 131_072), B, "8 key/value heads of 128 in 80 layers are 320 KiB a token"),
    ("B36", "qualcomm/GenieX#1346", "Gemma 4 E4B in llama.cpp, 4,096 cells, f16", "160 MiB more",
     at("Gemma 4 E4B", 4_096, "llama.cpp", batch=1_024), B,
     "20 layers slide and 4 do not; 18 own nothing; it reads 1,024 tokens at once"),
    ("B40", "jranaraki/vllm-fit#27", "Mixtral 8x7B, weights", "13B",
     parameters("Mixtral 8x7B"), WEIGHTS, "every expert is resident, whichever are used"),
    ("B41", "ParagEkbote/hf-model-inspector", "gpt-oss-20b, weights", "3,547,054,080",
     parameters("gpt-oss-20b"), WEIGHTS, "every expert is resident, whichever are used"),
    ("B43", "ollama/ollama#1800", "Llama 2 70B, 2,048 tokens, f16", "640 MiB",
     at("Llama 2 70B", 2_048), B, "equal to llama.cpp's own log"),
    ("B44", "vllm-project/vllm#37192", "16 tokens of 8 heads of 128 in NVFP4", "16,384 B",
     nvfp4_page, B, "16 numbers share a scale of one byte"),
)  # fmt: skip
COMPLAINTS: tuple[Complaint, ...] = tuple(
    Complaint(
        key=key, source=source, asked=asked, answered=answered, right=right, unit=unit, why=why
    )
    for key, source, asked, answered, right, unit, why in RAW
)


def wrong() -> list[Complaint]:
    """The answers that came out differently here."""
    return [one for one in COMPLAINTS if one.differs]
