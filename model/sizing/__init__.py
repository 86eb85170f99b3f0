"""How large a real model's cache is. Imports nothing; read in this order.

layers      the one data model: a list of layers, each with what it keeps
formats     how many bytes a kept number takes, scales included
pasted      JSON text as people paste it, read within bounds
fields      one typed value of a config at a time: aliases, defaults, refusals
kinds       what one layer of each kind keeps
families    from a config to the list of layers, one file per idea
read_config a config.json, whole, to a `Model`
parameters  how many weights, tied ones once and every expert resident
catalogue   the models known by name, with their sources
terms       the products a total is summed from, and printed from
pages       pages of a fixed number of tokens
engines     what ideal, transformers, vLLM and llama.cpp really allocate
vllm        one pool of pages; vllm_compressed those of DeepSeek-V4
question    what a reader asks, within bounds
size        the answer, summed over the layers
formula     the answer as arithmetic with the numbers in it
fit         what fits in the memory given
report      all of it as plain values, and the same question to every engine
"""
