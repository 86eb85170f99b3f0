"""The one exception a reader may see: it says what was wrong and what would be right."""


class BadInput(ValueError):  # noqa: N818 -- it is the reader who erred
    """Input that cannot be used. The message is one line: both numbers, and what to do.

    Commands print it to standard error and exit with status 2; the page shows it beside
    the control it belongs to.
    """
