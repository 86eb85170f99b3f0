"""The decode engine for real models: weights from disk, a prompt in, a stream of events out.

Read `config`, `checkpoint`, `layers`, `model`, `generate` in this order. Importing this package
imports nothing.
"""
