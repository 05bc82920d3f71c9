"""The LT-tree (section 4): the rows of each value, and in one walk from the root the rows of all smaller values."""

from __future__ import annotations

from collections.abc import Iterator
from sys import getsizeof

from pyroaring import BitMap

from refute.live.indexes.lt_tree.balance import NIL, Rooted, TreeNode, added, emptied, removed

_OBJECT = 16 + 24  # bytes of a bitmap beside its containers: the object, and where it points to


class LtTree(Rooted):
    """Rows by value, in a red-black tree of which each node has the rows of its left subtree as a set, its LT-set.

    With `d` distinct values, adding and taking away walk through O(log d) nodes and change a bit in each (theorem 4.2);
    `below` unites O(log d) sets, all of different rows (theorem 4.3). Sets that are handed out may be those of the
    tree: they are read at once, never changed.
    """

    __slots__ = ("_size",)

    def __init__(self) -> None:
        self.root = NIL
        self._size = 0

    def __len__(self) -> int:
        """The number of distinct values."""
        return self._size

    def add(self, value: int, slot: int) -> None:
        """Takes in a row (section 4.3, Insertion): its number joins the LT-set wherever the walk turns left."""
        parent, node = NIL, self.root
        while node is not NIL:
            if value == node.value:
                node.rows.add(slot)
                return
            parent = node
            if value < node.value:
                node.below.add(slot)
                node = node.left
            else:
                node = node.right
        self._size += 1
        added(self, TreeNode(value, BitMap([slot]), parent))

    def discard(self, value: int, slot: int) -> None:
        """Takes away a row that is there (section 4.3, Deletion); a node that has no rows left goes too."""
        node = self.root
        while value != node.value:
            if value < node.value:
                node.below.discard(slot)
                node = node.left
            else:
                node = node.right
            assert node is not NIL, "the row was never added"
        node.rows.discard(slot)
        if not node.rows:
            self._size -= 1
            removed(self, emptied(node))

    def equal(self, value: int) -> BitMap | None:
        """The rows that have the value, or None."""
        node = self.root
        while node is not NIL:
            if value == node.value:
                return node.rows
            node = node.left if value < node.value else node.right
        return None

    def below(self, value: int) -> tuple[BitMap, BitMap | None]:
        """The rows of all smaller values, and those of the value or None (algorithm 1)."""
        return _below(self.root, value)

    def between(self, low: int, high: int) -> BitMap:
        """The rows with `low <= value < high`: what the next row of a sorted batch has to add (section 5.5).

        Below the first node within the bounds, the walks to both of them see only sets of that node's subtree.
        """
        node = self.root
        while node is not NIL:
            if node.value < low:
                node = node.right
            elif node.value >= high:
                node = node.left
            else:
                left_out, _ = _below(node.left, low)
                larger, _ = _below(node.right, high)
                return BitMap.union(node.rows, node.below - left_out, larger)
        return BitMap()

    def nodes(self) -> Iterator[TreeNode]:
        """All nodes by ascending value."""
        path: list[TreeNode] = []
        node = self.root
        while path or node is not NIL:
            while node is not NIL:
                path.append(node)
                node = node.left
            node = path.pop()
            yield node
            node = node.right

    @property
    def nbytes(self) -> int:
        """The memory of nodes and sets; looks at each of them."""
        return sum(getsizeof(node) + 32 + set_bytes(node.rows) + set_bytes(node.below) for node in self.nodes())


def set_bytes(rows: BitMap) -> int:
    """The memory of a set."""
    return getsizeof(rows) + _OBJECT


def _below(node: TreeNode, value: int) -> tuple[BitMap, BitMap | None]:
    """Rows of a subtree with smaller values than this, and with this value: the LT-sets where the walk turns right."""
    found: list[BitMap] = []
    equal = None
    while node is not NIL:
        if value < node.value:
            node = node.left
            continue
        if node.below:
            found.append(node.below)
        if value == node.value:
            equal = node.rows
            break
        found.append(node.rows)
        node = node.right
    if len(found) == 1:
        return found[0], equal
    return (BitMap.union(*found) if found else BitMap()), equal
