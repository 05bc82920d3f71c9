"""Red-black balance of an LT-tree: nodes, rotations that reuse LT-sets, and repair after a node came or went.

The rules are those of Guibas and Sedgewick, as the paper has them (section 4.3, Rebalance): the root and all leaves are
black, a red node has black children, and all ways down from a node pass as many black nodes. At most two rotations
follow an insertion and three a deletion, each of which changes one LT-set.
"""

from __future__ import annotations

from pyroaring import BitMap


class TreeNode:
    """A distinct value, its rows, and those of the smaller values below it: the LT-set."""

    __slots__ = ("below", "is_red", "left", "parent", "right", "rows", "value")

    left: TreeNode
    right: TreeNode
    parent: TreeNode

    def __init__(self, value: int, rows: BitMap, parent: TreeNode | None = None) -> None:
        self.value = value
        self.rows = rows
        self.below = BitMap()
        self.is_red = parent is not None
        self.left = self.right = self if parent is None else NIL
        self.parent = self if parent is None else parent


NIL = TreeNode(0, BitMap())  # stands for every leaf, of all trees: it is black, and nothing ever changes it


class Rooted:
    """What a rotation at the top has to change."""

    __slots__ = ("root",)

    root: TreeNode


def rotate_left(tree: Rooted, node: TreeNode) -> None:
    """The right child takes the node's place; its LT-set grows by all that is now at its left."""
    child = node.right
    node.right = child.left
    if child.left is not NIL:
        child.left.parent = node
    _replace(tree, node, child)
    child.left = node
    node.parent = child
    child.below |= node.below
    child.below |= node.rows


def rotate_right(tree: Rooted, node: TreeNode) -> None:
    """The left child takes the node's place; what stays at the node's left is its LT-set without the child's rows."""
    child = node.left
    node.left = child.right
    if child.right is not NIL:
        child.right.parent = node
    _replace(tree, node, child)
    child.right = node
    node.parent = child
    node.below -= child.below
    node.below -= child.rows


def added(tree: Rooted, node: TreeNode) -> None:
    """Puts a new red node below the parent that it names, and repairs a red node that has a red child."""
    parent = node.parent
    if parent is NIL:
        tree.root = node
    elif node.value < parent.value:
        parent.left = node
    else:
        parent.right = node
    while node.parent.is_red:
        parent = node.parent
        grand = parent.parent
        is_left = parent is grand.left
        uncle = grand.right if is_left else grand.left
        if uncle.is_red:
            parent.is_red = uncle.is_red = False
            grand.is_red = True
            node = grand
            continue
        if node is (parent.right if is_left else parent.left):
            node = parent
            _rotate(tree, node, left=is_left)
        node.parent.is_red = False
        grand.is_red = True
        _rotate(tree, grand, left=not is_left)
    tree.root.is_red = False


def emptied(node: TreeNode) -> TreeNode:
    """The node to take out for one that has no rows left: itself, or where it has two children its successor.

    The successor's value and rows then move up, where the LT-set is right as it is; they leave the LT-sets on the way.
    """
    if node.left is NIL or node.right is NIL:
        return node
    heir = node.right
    while heir.left is not NIL:
        heir = heir.left
    passed = heir.parent
    while passed is not node:
        passed.below -= heir.rows
        passed = passed.parent
    node.value, node.rows = heir.value, heir.rows
    return heir


def removed(tree: Rooted, node: TreeNode) -> None:
    """Takes out a node that has at most one child, and repairs the ways that now miss a black node."""
    child = node.left if node.left is not NIL else node.right
    _replace(tree, node, child)
    if not node.is_red:
        _repaired(tree, child, node.parent)


def _repaired(tree: Rooted, node: TreeNode, parent: TreeNode) -> None:
    """Gives the ways through a node, which may be a leaf, one more black node; or all others one less."""
    while node is not tree.root and not node.is_red:
        is_left = node is parent.left
        other = parent.right if is_left else parent.left
        if other.is_red:
            other.is_red = False
            parent.is_red = True
            _rotate(tree, parent, left=is_left)
            other = parent.right if is_left else parent.left
        near, far = (other.left, other.right) if is_left else (other.right, other.left)
        if not near.is_red and not far.is_red:
            other.is_red = True
            node, parent = parent, parent.parent
            continue
        if not far.is_red:
            near.is_red = False
            other.is_red = True
            _rotate(tree, other, left=not is_left)
            other, far = near, other
        other.is_red = parent.is_red
        parent.is_red = far.is_red = False
        _rotate(tree, parent, left=is_left)
        return
    if node.is_red:
        node.is_red = False


def _rotate(tree: Rooted, node: TreeNode, *, left: bool) -> None:
    if left:
        rotate_left(tree, node)
    else:
        rotate_right(tree, node)


def _replace(tree: Rooted, node: TreeNode, child: TreeNode) -> None:
    """Hangs a child, which may be a leaf, where the node hung."""
    parent = node.parent
    if parent is NIL:
        tree.root = child
    elif node is parent.left:
        parent.left = child
    else:
        parent.right = child
    if child is not NIL:
        child.parent = parent
