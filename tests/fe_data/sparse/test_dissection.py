"""Nested dissection."""

import numpy as np
import scipy.sparse as sp

from fe_data.sparse.dissection import nested_dissection


def test_the_fewest_nodes_separate():
    # Two cliques of 26 nodes. Node 25 is joined to ten of the other, and 26 to ten of the first.
    joined = np.kron(np.eye(2), np.ones((26, 26)))
    joined[25, 26:36] = joined[16:26, 26] = 1.0
    graph = sp.csr_matrix(joined + joined.T)
    order = nested_dissection(graph.indptr, graph.indices, np.column_stack([np.arange(52)] * 2))
    assert sorted(order) == list(range(52))
    assert set(order[-2:]) == {25, 26}
