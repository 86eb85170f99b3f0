"""What a figure declares: its params, what it reads of a recording, the code that computed it.

The picture itself is drawn in the browser by the script of the same name in
``static/figures``: a pure function of these params and the recording, so that every frame of a
run is there before the reader scrolls to it.
"""

from typing import Any, ClassVar

import param


class Time(param.Integer):
    """A decode step of the run at hand, counted from 0; its upper bound is the run's length."""

    def __init__(self, default: int = 0, **params: Any) -> None:
        super().__init__(default, bounds=(0, None), label="Decode step", **params)


def one_of_two(label: str, doc: str) -> param.Selector:
    """The toy has two layers and two heads; people count them from 1."""
    return param.Selector(default=0, objects={"1": 0, "2": 1}, label=label, doc=doc)


class Figure(param.Parameterized):
    """One picture of a recording, in the state its params say."""

    title: ClassVar[str]
    description: ClassVar[str]  # what the picture shows, for who cannot see it
    sources: ClassVar[tuple[str, ...]]  # "module:qualname" of the code that computed it
    __abstract = True

    @classmethod
    def data(cls) -> dict[str, Any]:
        """Constants the picture needs besides a recording; computed by ``model``."""
        return {}

    @classmethod
    def values(cls) -> dict[str, tuple[int, ...]]:
        """For a param that is an index: the numbers its positions stand for."""
        return {}

    @classmethod
    def plot(cls) -> Any:
        """A Bokeh chart, for figures that are charts; others are drawn as cells and wires."""
        return None

    def __init__(self, recording: Any = None, **params: Any) -> None:
        super().__init__(**params)
        self.recording = recording

    def _repr_html_(self) -> str:
        """The live picture in a notebook, nothing fetched."""
        from figures.notebook import embed  # noqa: PLC0415 -- reads the scripts only when shown

        return embed(self)

    def state(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in own_params(type(self))}


def own_params(figure: type[Figure]) -> list[str]:
    """Names of a figure's params in the order they were written."""
    return [name for name in figure.param if name != "name"]


def schema(figure: type[Figure]) -> list[dict[str, Any]]:
    """The params as plain data: what a browser needs to make a control of each."""
    values = figure.values()
    told = (_describe(name, figure.param[name]) for name in own_params(figure))
    return [
        {**one, "values": values[one["name"]]} if one["name"] in values else one for one in told
    ]


def _describe(name: str, parameter: param.Parameter) -> dict[str, Any]:
    told = {"name": name, "label": parameter.label, "doc": parameter.doc or ""}
    if isinstance(parameter, Time):
        return {**told, "kind": "time", "default": parameter.default}
    if isinstance(parameter, param.Boolean):
        return {**told, "kind": "toggle", "default": parameter.default}
    if isinstance(parameter, param.Selector):
        return {**told, "kind": "choice", "default": parameter.default, **_options(parameter)}
    if isinstance(parameter, param.Integer):
        low, high = parameter.bounds  # pyright: ignore[reportGeneralTypeIssues]
        return {**told, "kind": "range", "default": parameter.default, "low": low, "high": high}
    raise TypeError(f"{name}: no control is known for a {type(parameter).__name__}")


def _options(parameter: param.Selector) -> dict[str, Any]:
    objects: dict[str, Any] = parameter.names or {str(o): o for o in parameter.objects}
    return {"options": list(objects.values()), "names": list(objects)}
