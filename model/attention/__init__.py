"""What a new token asks of the tokens seen so far, and the ways to store less of them.

Read `attend` first, then `heads` (MHA, GQA, MQA), `latent` (MLA), `shared` (CLA), `yoco`,
and `compressed` (DeepSeek-V4.1-Flash). Imports nothing.
"""
