"""A prefix tree as it grows, written down after every text: plain data for a figure."""

from collections.abc import Sequence
from typing import Any

from model.serving.prefix_tree import Node, PrefixTree
from model.serving.tables import BlockTables


def record_growth(texts: Sequence[Sequence[str]], block_size: int) -> list[dict[str, Any]]:
    """Store texts one after another; after each tell the edges and what was found.

    edges: depth first, each with its words, the place of its first word, the line it is drawn
    on (a line for each text stored) and its parent's line. rows: held; alone: what the texts
    would take unshared. found, by_blocks: words of the newest text that were there, by the tree
    and by whole blocks of `block_size`.
    """
    ids = {word: i for i, word in enumerate(dict.fromkeys(w for text in texts for w in text))}
    words, tree = list(ids), PrefixTree()
    most = sum(map(len, texts))
    tables = BlockTables(most, block_size)
    told, alone = [], 0
    for text in texts:
        tokens = [ids[word] for word in text]
        alone += len(tokens)
        told.append(
            {
                "found": tree.insert(tokens).matched,
                "by_blocks": _found_by_blocks(tables, tokens),
                "n": len(tokens),
                "rows": len(tree),
                "alone": alone,
                "edges": _edges(tree.root, words),
            }
        )
    return told


def _found_by_blocks(tables: BlockTables, tokens: list[int]) -> int:
    table = tables.open(tokens)
    found = table.n_tokens
    tables.grow(table, len(tokens))
    tables.remember(table, tokens)
    return found


def _edges(root: Node, words: Sequence[str]) -> list[dict[str, Any]]:
    edges: list[dict[str, Any]] = []
    line = 0

    def walk(node: Node, start: int, parent: int) -> None:
        nonlocal line
        own = line
        edges.append(
            {
                "words": [words[token] for token in node.tokens],
                "start": start,
                "line": own,
                "parent": parent,
            }
        )
        for i, child in enumerate(node.children.values()):
            line += bool(i)
            walk(child, start + len(node.tokens), own)

    for i, child in enumerate(root.children.values()):
        line += bool(i)
        walk(child, 0, line)
    return edges
