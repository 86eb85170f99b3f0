"""From a config to its list of layers: one file per idea, one explicit table per file."""
