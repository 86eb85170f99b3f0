"""Settings every test shares."""

import torch
from hypothesis import settings

settings.register_profile("repo", deadline=None, max_examples=30, derandomize=True)
settings.load_profile("repo")
torch.set_num_threads(1)
