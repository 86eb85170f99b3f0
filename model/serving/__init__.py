"""Serving many requests at once: blocks, prefix sharing, paging, and who runs when.

Read `blocks`, `prefix`, `tables`, then `paged` (the same with real keys and values) and
`workload` (a day in its life), then `scheduling`. Imports nothing.
"""
