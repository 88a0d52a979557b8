"""How properties depend on the number of fibres: the committed tables and the page."""

import numpy as np

from figures.markdown import with_blocks
from studies.size_effect.__main__ import MICROSTRUCTURES, PAGE, blocks, committed, inputs


def test_the_committed_tables_have_the_inputs_and_numbers_of_the_study():
    for n_fibres, table in committed().items():
        assert len(table) == 6 * MICROSTRUCTURES[n_fibres]
        np.testing.assert_array_equal(np.unique(table.inputs, axis=0), np.unique(inputs(), axis=0))


def test_the_page_shows_the_committed_tables():
    page = PAGE.read_text(encoding="utf-8")
    assert with_blocks(page, blocks(committed())) == page
