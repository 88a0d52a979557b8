"""Nested dissection by coordinates: an order of elimination that keeps a sparse factor sparse.

The nodes of a graph are halved along x or y, and so are the halves. The separator, the fewest nodes
on which all edges between the halves end, is eliminated after both. References: George (1973);
Heath & Raghavan (1995) for cuts by coordinates; Ashcraft & Liu (1998) for the fewest nodes.
"""

import numpy as np

from fe_data.arrays import Floats, Ints
from fe_data.sparse.compilation import compiled

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
        for i, node in enumerate(np.argsort(coordinates[:, axis])):
            lists[axis, i] = node
    part, rank, work = np.ones(n, np.int32), np.empty((2, n), np.int32), np.empty((4, n), np.int32)
    stack, parts = [(0, n, 1)], 1
    while len(stack) > 0:
        start, end, number = stack.pop()
        if end - start <= _LEAF:
            continue
        nodes, left, right = lists[:, start:end], parts + 1, parts + 2
        parts += 2
        order, cut, boundary = _best_cut(indptr, indices, nodes, rank, part, number)
        if cut == 0:
            continue
        part[order[:cut]] = left
        part[order[cut:]] = right
        _separate(indptr, indices, order, boundary, part, left, right, work)
        _separate(indptr, indices, order, order[part[order] == 0], part, right, left, work)
        for axis in range(2):
            v, side = nodes[axis].copy(), part[nodes[axis]]
            for i, node in enumerate(
                np.concatenate((v[side == left], v[side == right], v[side == 0]))
            ):
                nodes[axis, i] = node
        middle = start + np.count_nonzero(side == left)
        stack.append((start, middle, left))
        stack.append((middle, end - np.count_nonzero(side == 0), right))
    found: Ints = lists[0]
    return found


@compiled()
def _best_cut(
    indptr: Ints, indices: Ints, nodes: Ints, rank: Ints, part: Ints, number: int
) -> tuple[Ints, int, Ints]:
    """Nodes in the best direction, how many to cut off, 0 for none, and those joined to others."""
    n = nodes.shape[1]
    for axis in range(2):
        for i in range(n):
            rank[axis, nodes[axis, i]] = i
    # Highest rank of a node and its neighbours, by the rank of the node, along x, y, -x and -y.
    last: Ints = np.empty((4, n), np.int32)
    for v in nodes[0]:
        x, y = rank[0, v], rank[1, v]
        low_x, low_y, high_x, high_y = x, y, x, y
        for t in range(indptr[v], indptr[v + 1]):
            w = indices[t]
            if part[w] == number:
                low_x, high_x = min(low_x, rank[0, w]), max(high_x, rank[0, w])
                low_y, high_y = min(low_y, rank[1, w]), max(high_y, rank[1, w])
        last[0, x], last[1, y] = high_x, high_y
        last[2, n - 1 - x], last[3, n - 1 - y] = n - 1 - low_x, n - 1 - low_y
    best, direction, place = np.inf, 0, 0
    for candidate in range(4):
        # The boundary of a cut grows by `change` when the cut moves on by one node.
        change = np.ones(n, np.int32)
        for i in range(n):
            change[last[candidate, i]] -= 1
        size = 0
        for cut in range(1, n):
            size += change[cut - 1]
            least = min(cut - size, n - cut)
            if least < _SMALLEST_SHARE * n - size or least <= 0:
                continue
            cost = size * (1.0 + 8.0 * (0.5 - least / (n - size)) ** 2)
            if cost < best:
                best, direction, place = cost, candidate, cut
    order = nodes[direction % 2].copy() if direction < 2 else nodes[direction % 2][::-1].copy()
    return order, place, order[:place][last[direction, :place] >= place]


@compiled()
def _separate(
    indptr: Ints, indices: Ints, nodes: Ints, boundary: Ints, part: Ints, near: int, far: int,
    work: Ints,
) -> None:  # fmt: skip
    """Move the least separator to part 0, and what it leaves of `boundary` to the near part."""
    # A matching of the boundary with nodes of the far part grows by augmenting paths. Where none
    # starts from a node, the search for it has met fewer nodes of the far part than it started
    # from, and they separate instead.
    partner, seen, via, queue = work[0], work[1], work[2], work[3]
    for v in nodes:
        partner[v] = seen[v] = -1
    part[boundary] = 0
    for v in boundary:
        queue[0], length, i, free = v, 1, 0, -1
        while i < length and free < 0:
            u = queue[i]
            i += 1
            for t in range(indptr[u], indptr[u + 1]):
                w = indices[t]
                if part[w] == far and seen[w] != v:
                    seen[w], via[w] = v, u
                    if partner[w] < 0:
                        free = w
                        break
                    queue[length] = partner[w]
                    length += 1
        while free >= 0:
            u = via[free]
            partner[free], partner[u], free = u, free, partner[u]
        if partner[v] < 0:
            for u in queue[:length]:
                part[u] = near
                if u != v:
                    part[partner[u]] = 0
