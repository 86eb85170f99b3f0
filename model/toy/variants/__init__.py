"""The toy with other attentions: the same task, data, script and budget for each.

Reading order: `latent`, `shared` and `window` say what differs from `model.toy.network`;
`catalogue` lists them; `train` made and measured their weights; `results` reads what it left;
`run` puts a reader's sentence through all of them.
"""
