"""The KV cache, in the order to read it. Importing this package imports nothing."""
