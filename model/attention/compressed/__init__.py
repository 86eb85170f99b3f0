"""DeepSeek-V4.1-Flash at any size: few owners, compressed entries, an indexer, small rows.

Read `config` (who owns what, and the bytes), `entries` (several tokens become one row),
`index` (which rows a query takes), `layer`, `cache`, `decoder`. Imports nothing.
Sources: DeepSeek-V4.1-Flash technical report and config.json;
vllm-project/vllm vllm/models/deepseek_v41/attention.py, compressor.py.
"""
