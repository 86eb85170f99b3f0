"""Numbers the prose quotes about real models' caches, each computed by the calculator."""

from collections.abc import Callable, Mapping

from model.facts import Fact
from model.sizing import catalogue, formula
from model.sizing.alternatives import without_grouping, without_latents, without_windows
from model.sizing.complaints import wrong
from model.sizing.formats import FORMATS, bits_per_number
from model.sizing.question import Question
from model.sizing.size import size, total_bytes
from model.sizing.units import binary, both, decimal


def numbers_per_token(name: str) -> Callable[[], Fact]:
    def computed() -> Fact:
        numbers = sum(layer.numbers_per_token for layer in catalogue.load(name).layers)
        return Fact(text=f"{int(numbers):,}", how=arithmetic(name, 1))

    return computed


def bytes_per_token(name: str, shown: Callable[[float], str] = binary) -> Callable[[], Fact]:
    def computed() -> Fact:
        answer = size(catalogue.load(name), Question(tokens=1))
        return Fact(text=shown(float(answer.bytes_per_token_first)), how=arithmetic(name, 1))

    return computed


def marginal(name: str, shown: Callable[[float], str] = binary) -> Callable[[], Fact]:
    def computed() -> Fact:
        answer = size(catalogue.load(name), Question(tokens=1))
        return Fact(text=shown(float(answer.bytes_per_token_marginal)), how=arithmetic(name, 1))

    return computed


def at(name: str, tokens: int, batch: int = 1, **asked: str) -> Callable[[], Fact]:
    def computed() -> Fact:
        question = Question(tokens=tokens, batch=batch, **asked)  # type: ignore[arg-type]
        answer = size(catalogue.load(name), question)
        return Fact(text=binary(answer.cache_bytes), how=formula.total_line(answer))

    return computed


def weights(name: str) -> Callable[[], Fact]:
    def computed() -> Fact:
        answer = size(catalogue.load(name), Question(tokens=0))
        count = answer.model.parameters
        return Fact(text=both(answer.weight_bytes or 0), how=f"{count:,} weights x 2 B")

    return computed


def parameters(name: str) -> Callable[[], str]:
    return lambda: f"{catalogue.load(name).parameters:,}"


def ratio(name: str, changed: Callable[..., object], tokens: int) -> Callable[[], str]:
    """How many times larger the cache would be after a change."""

    def computed() -> str:
        model = catalogue.load(name)
        other = total_bytes(changed(model), Question(tokens=tokens))  # type: ignore[arg-type]
        return f"{other / total_bytes(model, Question(tokens=tokens)):.3g}"

    return computed


def bits(name: str) -> Callable[[], str]:
    return lambda: f"{float(bits_per_number(FORMATS[name])):g}"


def arithmetic(name: str, tokens: int) -> str:
    answer = size(catalogue.load(name), Question(tokens=tokens))
    return "; ".join(line.text for line in formula.lines(answer))


def exact(value: float) -> str:
    return f"{value:,.10g} B"


FACTS: Mapping[str, object] = {
    "catalogue-models": lambda: str(len(catalogue.entries())),
    "public-wrong-answers": lambda: str(len(wrong())),
    "calculator-llama-2-7b-numbers-per-token": numbers_per_token("Llama 2 7B"),
    "calculator-llama-2-7b-per-token": bytes_per_token("Llama 2 7B"),
    "calculator-llama-2-7b-at-4096": at("Llama 2 7B", 4_096),
    "calculator-llama-2-7b-32-sequences": at("Llama 2 7B", 4_096, 32),
    "calculator-llama-2-7b-weights": weights("Llama 2 7B"),
    "calculator-llama-2-7b-parameters": parameters("Llama 2 7B"),
    "calculator-llama-3-8b-per-token": bytes_per_token("Llama 3 8B"),
    "calculator-llama-3-405b-at-128000": at("Llama 3.1 405B", 128_000),
    "calculator-deepseek-v3-per-token": bytes_per_token("DeepSeek-V3", exact),
    "calculator-deepseek-v3-without-latents": ratio("DeepSeek-V3", without_latents, 4_096),
    "calculator-deepseek-v32-per-token": bytes_per_token("DeepSeek-V3.2", exact),
    "calculator-deepseek-v41-flash-per-token": marginal("DeepSeek-V4.1-Flash", exact),
    "calculator-deepseek-v41-flash-at-1m": at("DeepSeek-V4.1-Flash", 1_048_576),
    "calculator-gpt-oss-120b-first": bytes_per_token("gpt-oss-120b", exact),
    "calculator-gpt-oss-120b-later": marginal("gpt-oss-120b", exact),
    "calculator-gemma-3-27b-at-131072": at("Gemma 3 27B", 131_072),
    "calculator-gemma-3-27b-without-windows": ratio("Gemma 3 27B", without_windows, 131_072),
    "calculator-llama-2-70b-without-groups": ratio("Llama 2 70B", without_grouping, 4_096),
    "calculator-mistral-7b-at-32768": at("Mistral 7B v0.1", 32_768),
    "calculator-mistral-7b-without-windows": ratio("Mistral 7B v0.1", without_windows, 32_768),
    "calculator-whisper-cross": lambda: decimal(
        size(catalogue.load("Whisper large-v3"), Question(tokens=0)).fixed_bytes
    ),
    "calculator-mixtral-parameters": parameters("Mixtral 8x7B"),
    "calculator-q4-0-bits": bits("q4_0"),
    "calculator-q8-0-bits": bits("q8_0"),
    "calculator-nvfp4-bits": bits("nvfp4"),
    "calculator-mxfp4-bits": bits("mxfp4"),
}
