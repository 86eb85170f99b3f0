"""The toy: a trained encoder-decoder of width 8, small enough to read every number.

Reading order: `lexicon`, `noun_phrase`, `teacher` and `sentences` make the
data; `tokens` reads what was typed; `config`, `parameters`, `arithmetic` and `network` are the
model; `cache` and `decode` are the lesson; `record` watches a run and `trace` is what it leaves;
`training`, `train` and `evaluate` made and measured the weights.
"""
