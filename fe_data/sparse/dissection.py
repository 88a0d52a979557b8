"""Nested dissection by coordinates: an order of elimination that keeps a sparse factor sparse.

The nodes of a graph are divided into halves along x or y, and so are the halves, recursively. The
separator is the smallest set of nodes that contains an end of every edge between the halves. It is
eliminated after both halves:

    A = [[A_11, 0, A_1s], [0, A_22, A_2s], [A_s1, A_s2, A_ss]]  has no fill between halves 1 and 2.

References: George (1973); Heath & Raghavan (1995) for cuts by coordinates; Ashcraft & Liu (1998)
for smallest separators.
"""

import numpy as np

from fe_data.arrays import Floats, Ints
from fe_data.sparse.compilation import compiled

_LEAF = 12  # a region with at most so many nodes is not divided further
_SMALLEST_SHARE = 0.2  # least fraction of the nodes on either side of a cut


@compiled()
def nested_dissection(indptr: Ints, indices: Ints, coordinates: Floats) -> Ints:
    """Return the order of elimination of the nodes of a graph.

    Args:
        indptr: (n + 1,) row pointers of the adjacency matrix (CSR) of the graph.
        indices: Column indices of the adjacency matrix. Edges may have any length, so the graph may
            be periodic.
        coordinates: (n, 2) positions of the nodes.

    Returns:
        The nodes (n,) in the order of elimination.

    The middle of a path of 27 nodes is eliminated last:

    >>> import scipy.sparse as sp
    >>> path = sp.diags([1, 1], [-1, 1], shape=(27, 27), format="csr")
    >>> coordinates = np.column_stack([np.arange(27.0), np.zeros(27)])
    >>> int(nested_dissection(path.indptr, path.indices, coordinates)[-1])
    13
    """
    n = len(coordinates)
    # Each region is the same range of two lists, which are its nodes sorted by x and by y.
    lists: Ints = np.empty((2, n), np.int32)
    for axis in range(2):
        for i, node in enumerate(np.argsort(coordinates[:, axis])):
            lists[axis, i] = node
    region = np.ones(n, np.int32)  # number of the region of each node, 0 in a separator
    rank = np.empty((2, n), np.int32)
    work = np.empty((4, n), np.int32)
    stack = [(0, n, 1)]
    regions = 1
    while len(stack) > 0:
        start, end, number = stack.pop()
        if end - start <= _LEAF:
            continue
        nodes = lists[:, start:end]
        left = regions + 1
        right = regions + 2
        regions += 2
        order, cut, boundary = _best_cut(indptr, indices, nodes, rank, region, number)
        if cut == 0:
            continue
        for i in range(len(order)):
            region[order[i]] = left if i < cut else right
        _separate(indptr, indices, order, boundary, region, left, right, work)
        _separate(indptr, indices, order, _nodes_of(order, region, 0), region, right, left, work)
        # Reorder both lists: left region, right region, separator.
        middle = start
        last = start
        for axis in range(2):
            before = nodes[axis].copy()
            middle = start + _append_nodes(before, region, left, nodes[axis], 0)
            last = start + _append_nodes(before, region, right, nodes[axis], middle - start)
            _append_nodes(before, region, 0, nodes[axis], last - start)
        stack.append((start, middle, left))
        stack.append((middle, last, right))
    ordering: Ints = lists[0]
    return ordering


@compiled()
def _append_nodes(nodes: Ints, region: Ints, number: int, into: Ints, count: int) -> int:
    """Write the nodes of a region behind the first `count` entries; return the new count."""
    for v in nodes:
        if region[v] == number:
            into[count] = v
            count += 1
    return count


@compiled()
def _nodes_of(nodes: Ints, region: Ints, number: int) -> Ints:
    """Return the nodes that belong to a region."""
    chosen: Ints = np.empty(len(nodes), np.int32)
    return chosen[: _append_nodes(nodes, region, number, chosen, 0)]


@compiled()
def _best_cut(
    indptr: Ints, indices: Ints, nodes: Ints, rank: Ints, region: Ints, number: int
) -> tuple[Ints, int, Ints]:
    """Find the best cut: sorted nodes, size of the first region (0: no cut), and its boundary."""
    n = nodes.shape[1]
    last = _highest_ranks(indptr, indices, nodes, rank, region, number)
    best = np.inf
    direction = 0
    place = 0
    for candidate in range(4):
        # The boundary of a cut grows by `change` if the cut moves by one node.
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
                best = cost
                direction = candidate
                place = cut
    order: Ints = np.empty(n, np.int32)
    boundary: Ints = np.empty(n, np.int32)
    count = 0
    for i in range(n):
        order[i] = nodes[direction % 2, i if direction < 2 else n - 1 - i]
        if i < place and last[direction, i] >= place:
            boundary[count] = order[i]
            count += 1
    return order, place, boundary[:count]


@compiled()
def _highest_ranks(
    indptr: Ints, indices: Ints, nodes: Ints, rank: Ints, region: Ints, number: int
) -> Ints:
    """Return the highest rank (4, n) of each node and its neighbours along x, y, -x and -y.

    Column i of a direction is for the node with rank i.

    Returns:
        The ranks.
    """
    n = nodes.shape[1]
    for axis in range(2):
        for i in range(n):
            rank[axis, nodes[axis, i]] = i
    last: Ints = np.empty((4, n), np.int32)
    for v in nodes[0]:
        x = rank[0, v]
        y = rank[1, v]
        low_x = x
        low_y = y
        high_x = x
        high_y = y
        for t in range(indptr[v], indptr[v + 1]):
            w = indices[t]
            if region[w] == number:
                low_x = min(low_x, rank[0, w])
                low_y = min(low_y, rank[1, w])
                high_x = max(high_x, rank[0, w])
                high_y = max(high_y, rank[1, w])
        last[0, x] = high_x
        last[1, y] = high_y
        last[2, n - 1 - x] = n - 1 - low_x
        last[3, n - 1 - y] = n - 1 - low_y
    return last


@compiled()
def _separate(
    indptr: Ints,
    indices: Ints,
    nodes: Ints,
    boundary: Ints,
    region: Ints,
    near: int,
    far: int,
    work: Ints,
) -> None:
    """Move the smallest separator to region 0, and the rest of `boundary` to the near region."""
    # Match the boundary with nodes of the far region by augmenting paths. If no path starts at a
    # node, its search has met fewer nodes of the far region than of the boundary. The separator
    # then has these nodes of the far region instead.
    partner = work[0]
    seen = work[1]
    via = work[2]
    queue = work[3]
    for v in nodes:
        partner[v] = -1
        seen[v] = -1
    for v in boundary:
        region[v] = 0
    for v in boundary:
        queue[0] = v
        length = 1
        i = 0
        free = -1
        while i < length and free < 0:
            u = queue[i]
            i += 1
            for t in range(indptr[u], indptr[u + 1]):
                w = indices[t]
                if region[w] == far and seen[w] != v:
                    seen[w] = v
                    via[w] = u
                    if partner[w] < 0:
                        free = w
                        break
                    queue[length] = partner[w]
                    length += 1
        while free >= 0:  # exchange pairs along the path
            u = via[free]
            before = partner[u]
            partner[free] = u
            partner[u] = free
            free = before
        if partner[v] < 0:
            for u in queue[:length]:
                region[u] = near
                if u != v:
                    region[partner[u]] = 0
