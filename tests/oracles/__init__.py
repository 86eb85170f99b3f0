"""Independent oracles: the real classes of transformers, and the data they yield."""
