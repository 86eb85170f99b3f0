"""What lesson 2 asks of the reader's run: other attentions, other stores."""

from typing import Any

from figures import variant_recording as sent
from model.toy.record import shipped
from model.toy.stored import FORMATS
from model.toy.stored import stored as stored_in
from model.toy.trace import Trace
from model.toy.variants import run
from model.toy.vocabulary import vocabularies

REORDERED = 2  # key-value heads, where four query heads can read them in a wrong order


def variants(trace: Trace) -> dict[str, Any]:
    """Words by every trained variant."""
    return sent.variants(trace, run.written_by_all(trace.reading.text))


def heads(trace: Trace) -> dict[str, Any]:
    """Rows and counts of grouped heads on the words this run wrote."""
    ids = vocabularies(shipped().config).french.ids
    words = [ids[word] for word in trace.words]
    text = trace.reading.text
    return sent.heads(run.grouped(text, words), run.tiled_gap(text, words, REORDERED))


def latent(trace: Trace) -> dict[str, Any]:
    """MLA's latents, read both ways."""
    return sent.latent(trace, run.latents(trace.reading.text))


def stored(trace: Trace) -> dict[str, Any]:
    """The run's own rows in smaller stores."""
    found = {name: (form, stored_in(trace, form)) for name, form in FORMATS.items()}
    return sent.stored(trace, found)
