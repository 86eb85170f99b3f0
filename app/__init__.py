"""The page and the commands: wiring only. What is true is computed in ``model``."""
