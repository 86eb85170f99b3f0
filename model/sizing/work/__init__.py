"""The work of every layer kind, from the matrices the weight counts use: see `model.work_of`."""
