"""One file a command: a docstring as help, ``configure(parser)``, ``run(args) -> int``."""
