"""How many weights a model has, counted from its config."""
