"""Real bugs of real caches, each a wrong twin of one function or store, run through its seam.

Reading order: `bug` (what is said of one), `bench_decoder` and `bench_toy` (where they run),
the twins by theme (`masks`, `slots`, `positions`, `reuse`, `rounding`, `source`, `copies`,
`heads`, `windows`, `rotary`, `quantised`, `paging`, `drafts`), `catalogue` (all of them), `run`.
"""
