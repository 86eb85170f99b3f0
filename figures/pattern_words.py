"""The reader's sentence under each pattern: which words change."""

from figures.base import Figure


class PatternWords(Figure):
    title = "Your sentence under each pattern"
    description = (
        "One row a pattern: the words the toy writes when its decoder may read only what the "
        "pattern allows. Words that differ from the causal ones are marked."
    )
    sources = ("model.toy.patterned:read_under_patterns",)
