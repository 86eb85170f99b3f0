"""Commands for measuring and provoking a server: ``python -m tests.tools.load``, ``.fuzz``."""
