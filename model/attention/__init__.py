"""What a new token asks of the tokens seen so far, and the ways to store less of them.

Read `attend` first, then `heads` (MHA, GQA, MQA), `pooling` (from many heads to few), `latent`
(MLA), `shared` (CLA), `yoco`, `sink` and `compressed` (DeepSeek-V4.1-Flash); `online_softmax`
computes the same in blocks. Imports nothing.
"""
