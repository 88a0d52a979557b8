"""Nested dissection by coordinates: an order of elimination that keeps a sparse factor sparse.

The nodes of a graph are halved along x or y, and so are the halves. The separator, the nodes that
join two halves, is eliminated after both. References: George (1973); Heath & Raghavan (1995) for
cuts by coordinates.
"""

import numpy as np

from fe_data.arrays import Floats, Ints
from fe_data.sparse.compilation import compiled

_LEFT, _RIGHT, _SEPARATOR = 0, 1, 2
_LEAF = 12  # number of nodes that is not halved further
_SMALLEST_SHARE = 0.2  # least share of the nodes on either side of a cut


@compiled()
def nested_dissection(indptr: Ints, indices: Ints, coordinates: Floats) -> Ints:
    """Order (n,) of elimination of the nodes of a graph, given by its adjacency matrix (CSR)."""
    # Cuts may cross edges of any length, so the graph may be periodic.
    n = len(coordinates)
    # Each part is one range of both lists, which hold its nodes by x and by y.
    lists: Ints = np.empty((2, n), np.int32)
    for axis in range(2):
        lists[axis] = np.argsort(coordinates[:, axis])
    rank, part = np.full(n, -1, np.int32), np.zeros(n, np.int32)
    label, stack, parts = np.empty(n, np.int8), [(0, n)], 0
    while len(stack) > 0:
        start, end = stack.pop()
        if end - start <= _LEAF:
            continue
        parts += 1
        for v in lists[0, start:end]:
            part[v] = parts
        best, axis, cut, right_hand = np.inf, -1, 0, False
        for candidate in range(2):
            cost, place, hand = _best_cut(
                indptr, indices, lists[candidate, start:end], rank, part, parts
            )
            if cost < best:
                best, axis, cut, right_hand = cost, candidate, place, hand
        if axis < 0:
            continue
        _label(indptr, indices, lists[axis, start:end], rank, part, parts, cut, right_hand, label)
        for other in range(2):
            left, right = _split(lists[other, start:end], label)
        stack.append((start, start + left))
        stack.append((start + left, start + left + right))
    order: Ints = lists[0]
    return order


@compiled()
def _reach(
    indptr: Ints, indices: Ints, v: int, rank: Ints, part: Ints, number: int
) -> tuple[int, int]:
    """Lowest and highest rank of node v and its neighbours in the part with this number."""
    low = high = rank[v]
    for t in range(indptr[v], indptr[v + 1]):
        w = indices[t]
        if part[w] == number:
            low, high = min(low, rank[w]), max(high, rank[w])
    return low, high


@compiled()
def _best_cut(
    indptr: Ints, indices: Ints, nodes: Ints, rank: Ints, part: Ints, number: int
) -> tuple[float, int, bool]:
    """Cost of a cut of sorted nodes, nodes left of it, whether the separator is from the right."""
    n = len(nodes)
    for i in range(n):
        rank[nodes[i]] = i
    # change[hand, c]: growth of the separator when the cut moves from c to c + 1 nodes on its left.
    change = np.zeros((2, n + 2), np.int32)
    for i in range(n):
        low, high = _reach(indptr, indices, nodes[i], rank, part, number)
        change[0, i + 1] += 1
        change[0, high + 1] -= 1
        change[1, low + 1] += 1
        change[1, i + 1] -= 1
    best, place, right_hand = np.inf, 0, False
    for hand in range(2):
        size = 0
        for cut in range(1, n):
            size += change[hand, cut]
            left = cut - (size if hand == 0 else 0)
            right = n - cut - (size if hand == 1 else 0)
            least = min(left, right)
            if least < _SMALLEST_SHARE * n - size or least <= 0:
                continue
            cost = size * (1.0 + 2.0 * (0.5 - least / (left + right)) ** 2 * 4)
            if cost < best:
                best, place, right_hand = cost, cut, hand == 1
    return best, place, right_hand


@compiled()
def _label(
    indptr: Ints, indices: Ints, nodes: Ints, rank: Ints, part: Ints,
    number: int, cut: int, right_hand: bool, label: Ints,
) -> None:  # fmt: skip
    """Mark each node as left, right or separator."""
    for i in range(len(nodes)):
        rank[nodes[i]] = i
    for i in range(len(nodes)):
        v = nodes[i]
        low, high = _reach(indptr, indices, v, rank, part, number)
        label[v] = _LEFT if i < cut else _RIGHT
        if (right_hand and i >= cut and low < cut) or (not right_hand and i < cut and high >= cut):
            label[v] = _SEPARATOR


@compiled()
def _split(nodes: Ints, label: Ints) -> tuple[int, int]:
    """Sort nodes by label in place, stably; returned are the numbers on the left and right."""
    side = label[nodes]
    left, right = nodes[side == _LEFT], nodes[side == _RIGHT]
    nodes[:] = np.concatenate((left, right, nodes[side == _SEPARATOR]))
    return len(left), len(right)
