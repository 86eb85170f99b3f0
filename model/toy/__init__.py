"""The toy: a trained encoder-decoder of width 8, small enough to read every number.

Reading order: `lexicon`, `teacher` and `sentences` make the data; `tokens` reads what was typed;
`config`, `arithmetic`, `attention` and `network` are the model; `cache` and `decode` are the
lesson; `record` watches a run and `trace` is what it leaves; `train` and `evaluate` made and
measured the weights.
"""
