"""Headers of weight files on disk: names, shapes and settings, never the weights."""
