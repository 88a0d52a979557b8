"""Symbolic phase of the sparse Cholesky factorisation: order of elimination, fronts, their rows.

Unknowns are eliminated in groups, the fronts. A front is a dense matrix with m rows: k unknowns are
eliminated and m - k unknowns are updated. Fronts form a tree, and each front follows all of its
children. References: Duff & Reid (1983) for the method; Liu (1990) for elimination trees; Ashcraft
& Grimes (1989) for the amalgamation of small fronts.
"""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import depth_first_order

from fe_data.arrays import Floats, Ints
from fe_data.sparse.compilation import compiled
from fe_data.sparse.dissection import nested_dissection


class Elimination(NamedTuple):
    """The nf fronts of a sparsity pattern with n unknowns, in the order of elimination."""

    position: Ints  # (n,) position of each unknown in the order of elimination
    eliminated: Ints  # (nf,) number k of unknowns that a front eliminates
    size: Ints  # (nf,) number m of rows of a front
    parent: Ints  # (nf,) parent of a front, -1 for a root
    first: Ints  # (nf + 1,) first position that a front eliminates
    start: Ints  # (nf + 1,) first entry of a front in `rows` and `in_parent`
    rows: Ints  # positions of the m - k updated rows of each front, ascending
    in_parent: Ints  # indices of these rows in the front of the parent
    children: Ints  # (nf,) first child of a front, -1 for none
    sibling: Ints  # (nf,) next child of the same parent, -1 for none


def plan_elimination(indptr: Ints, indices: Ints, coordinates: Floats) -> Elimination:
    """Order the unknowns of a pattern, and find the fronts.

    Args:
        indptr: (n + 1,) row pointers of the upper triangle (CSR), whose diagonal is full.
        indices: Column indices of the upper triangle.
        coordinates: (nodes, 2) positions of the nodes. The unknowns of a node are adjacent and have
            the same pattern.

    Returns:
        The fronts.
    """
    # Unknowns of a node are eliminated together, so only the graph of nodes is needed.
    n = len(indptr) - 1
    block = n // len(coordinates)
    graph = _node_graph(indptr, indices, block)
    order = nested_dissection(graph.indptr, graph.indices, coordinates)
    permuted = graph[order][:, order]
    parent, counts = _elimination_tree(permuted.indptr, permuted.indices)
    post = _postorder(parent)
    inverse = np.argsort(post).astype(np.int32)
    parent = np.where(parent[post] >= 0, inverse[parent[post]], -1)
    first, up = _supernodes(parent, counts[post])
    group, k, m, up = _amalgamate(first, up, counts[post], block)
    # If a front was joined to its parent, its unknowns come before the unknowns of the parent.
    joined = np.argsort(np.repeat(group, np.diff(first)), kind="stable")
    order = order[post][joined]
    permuted = graph[order][:, order]
    children, sibling = _children(up)
    first, start, rows, in_parent = _front_rows(
        permuted.indptr, permuted.indices, k, m, children, sibling
    )
    position = np.argsort(order).astype(np.int32)
    return Elimination(
        position=_unknowns(position, block),
        eliminated=block * k,
        size=block * m,
        parent=up,
        first=block * first,
        start=block * start,
        rows=_unknowns(rows, block),
        in_parent=_unknowns(in_parent, block),
        children=children,
        sibling=sibling,
    )


def _node_graph(indptr: Ints, indices: Ints, block: int) -> sp.csr_matrix:
    """Return the graph of the nodes, from the pattern of `block` unknowns per node."""
    n = len(indptr) - 1
    upper = sp.csr_matrix((np.ones(len(indices), np.int8), indices, indptr), shape=(n, n))
    upper = upper[::block, ::block]
    return (upper + upper.T).tocsr()


def _unknowns(nodes: Ints, block: int) -> Ints:
    """Return the indices (n block,) of the unknowns of nodes (n,)."""
    return np.asarray((block * nodes[:, None] + np.arange(block, dtype=np.int32)).ravel())


@compiled()
def _elimination_tree(indptr: Ints, indices: Ints) -> tuple[Ints, Ints]:
    """Return parents of columns, and numbers of entries in columns of L with the diagonal."""
    # parent(j) is the first row below the diagonal in column j of L (Liu, 1990).
    n = len(indptr) - 1
    parent = np.full(n, -1, np.int32)
    ancestor = np.full(n, -1, np.int32)
    for i in range(n):
        for t in range(indptr[i], indptr[i + 1]):
            j = indices[t]
            while j != -1 and j < i:
                j_next = ancestor[j]
                ancestor[j] = i
                if j_next == -1:
                    parent[j] = i
                j = j_next
    counts = np.ones(n, np.int32)
    mark = np.full(n, -1, np.int32)
    for i in range(n):
        mark[i] = i
        for t in range(indptr[i], indptr[i + 1]):
            j = indices[t]
            while j < i and mark[j] != i:
                mark[j] = i
                counts[j] += 1
                j = parent[j]
    return parent, counts


def _children(parent: Ints) -> tuple[Ints, Ints]:
    """Return the first child and next sibling of each node, in ascending order; -1 for none."""
    first = np.full(len(parent), -1, np.int32)
    sibling = np.full(len(parent), -1, np.int32)
    below = np.flatnonzero(parent >= 0)
    below = below[np.argsort(parent[below], kind="stable")]
    above = parent[below]
    first[above[::-1]] = below[::-1]  # of several children the first is written last
    follows = above[1:] == above[:-1]
    sibling[below[:-1][follows]] = below[1:][follows]
    return first, sibling


def _postorder(parent: Ints) -> Ints:
    """Order the nodes of a forest so that subtrees are contiguous and end with their roots."""
    # This is the reverse of a depth-first order from a node above all roots, last child first.
    n = len(parent)
    above = np.where(parent >= 0, n - parent, 0)
    tree = sp.csr_matrix((np.ones(n), (above, n - np.arange(n))), shape=(n + 1, n + 1))
    order: Ints = n - depth_first_order(tree, 0, return_predecessors=False)[:0:-1]
    return order


def _supernodes(parent: Ints, counts: Ints) -> tuple[Ints, Ints]:
    """Return first column and parent of each run of adjacent columns with the same rows."""
    n = len(parent)
    joined = (parent[:-1] == np.arange(1, n)) & (counts[:-1] == counts[1:] + 1)
    starts = np.flatnonzero(~joined) + 1
    first = np.concatenate([[0], starts, [n]]).astype(np.int32)
    above = parent[first[1:] - 1]
    run = np.repeat(np.arange(len(first) - 1), np.diff(first))  # of each column
    return first, np.where(above >= 0, run[above], -1).astype(np.int32)


@compiled()
def _worth_joining(k: int, share: float) -> bool:
    """Return whether to join fronts to one that eliminates k and has this fraction of zeros."""
    return k <= 4 or (k <= 16 and share < 0.8) or (k <= 48 and share < 0.1) or share < 0.05


def _amalgamate(first: Ints, up: Ints, counts: Ints, block: int) -> tuple[Ints, Ints, Ints, Ints]:
    """Join small fronts to parents: new front of each old front; k, m, parent of new fronts."""
    k = np.diff(first)
    m = counts[first[:-1]]
    into = np.arange(len(up))
    _join(up, block, k, m, np.zeros(len(up)), into)
    roots = np.flatnonzero(into == np.arange(len(up)))
    number = np.full(len(up), -1, np.int32)
    number[roots] = np.arange(len(roots))
    above = up[roots]
    parent = np.where(above >= 0, number[into[above]], -1).astype(np.int32)
    return number[into], k[roots], m[roots], parent


@compiled()
def _join(up: Ints, block: int, k: Ints, m: Ints, zeros: Floats, into: Ints) -> None:
    """Join small fronts to parents; write k, m and zeros of new fronts, and the front of each."""
    for f in range(len(up)):
        p = up[f]
        if p < 0:
            continue
        k_joined = k[f] + k[p]
        m_joined = k[f] + m[p]
        z = zeros[f] + zeros[p] + k[f] * (m_joined - m[f])
        if _worth_joining(block * k_joined, z / (k_joined * (m_joined - (k_joined - 1) / 2))):
            into[f] = p
            k[p] = k_joined
            m[p] = m_joined
            zeros[p] = z
    for f in range(len(up) - 1, -1, -1):
        into[f] = into[into[f]]


def _front_rows(
    indptr: Ints, indices: Ints, k: Ints, m: Ints, children: Ints, sibling: Ints
) -> tuple[Ints, Ints, Ints, Ints]:
    """Return `first`, `start`, `rows` and `in_parent` of an `Elimination`."""
    n = len(indptr) - 1
    first = np.concatenate([[0], np.cumsum(k)]).astype(np.int32)
    start = np.concatenate([[0], np.cumsum(m - k)]).astype(np.int64)
    rows = np.empty(start[-1], np.int32)
    work = np.full(n, -1, np.int32)
    tree = first, start, children, sibling
    _collect_rows(indptr, indices, *tree, work, rows)
    front = np.repeat(np.arange(len(k)), m - k)
    rows = rows[np.lexsort((rows, front))]
    in_parent = np.empty(start[-1], np.int32)
    _place_in_parents(*tree, rows, work, in_parent)
    return first, start, rows, in_parent


@compiled()
def _collect_rows(
    indptr: Ints,
    indices: Ints,
    first: Ints,
    start: Ints,
    children: Ints,
    sibling: Ints,
    mark: Ints,
    rows: Ints,
) -> None:
    """Write the updated rows of each front in any order; `mark` (n,) is scratch of -1."""
    # A front updates the rows of its columns, and the rows that its children update.
    for f in range(len(children)):
        end = first[f + 1]
        count = start[f]
        for t in range(indptr[first[f]], indptr[end]):
            count = _add_row(indices[t], end, f, mark, rows, count)
        child = children[f]
        while child >= 0:
            for t in range(start[child], start[child + 1]):
                count = _add_row(rows[t], end, f, mark, rows, count)
            child = sibling[child]


@compiled()
def _place_in_parents(
    first: Ints,
    start: Ints,
    children: Ints,
    sibling: Ints,
    rows: Ints,
    place: Ints,
    in_parent: Ints,
) -> None:
    """Write the index of each row in the front of the parent; `place` (n,) is scratch."""
    for f in range(len(children)):
        eliminated = first[f + 1] - first[f]
        for i in range(eliminated):
            place[first[f] + i] = i
        for t in range(start[f], start[f + 1]):
            place[rows[t]] = eliminated + t - start[f]
        child = children[f]
        while child >= 0:
            for t in range(start[child], start[child + 1]):
                in_parent[t] = place[rows[t]]
            child = sibling[child]


@compiled()
def _add_row(row: int, end: int, f: int, mark: Ints, rows: Ints, count: int) -> int:
    """Append a row to `rows`, unless front f eliminates or has it; return the new count."""
    if row >= end and mark[row] != f:
        mark[row] = f
        rows[count] = row
        count += 1
    return count


@compiled()
def place_of(value: int, values: Ints, start: int, end: int) -> int:
    """Return the place of the first of sorted `values` that is not smaller than `value`."""
    while start < end:
        middle = (start + end) // 2
        if values[middle] < value:
            start = middle + 1
        else:
            end = middle
    return start
