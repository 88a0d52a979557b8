"""Paths of mean strain and stress: what they mean, and which are refused."""

import numpy as np
import pytest

from fe_data.loading import Loading

UP = (0.02, None, None)
DOWN = (-0.01, None, None)
NONE = (None, None, None)


def test_one_vertex_is_a_path_of_one_and_what_is_given_once_is_meant_for_all():
    one = Loading(UP)
    assert one == Loading([UP]) == Loading(np.array([UP])) == Loading(UP, [(0.0, 0.0, 0.0)])
    loading = Loading((0.01, None, None), [(0.0, 50.0, 0.0), (0.0, -50.0, 0.0)], 7)
    assert loading.strain == ((0.01, None, None),) * 2
    assert loading.increments == (7, 7)
    assert Loading([UP, DOWN], (0.0, 5.0, 0.0)).stress == ((0.0, 5.0, 0.0),) * 2


def test_parts_say_what_is_free_and_where_they_lead():
    loading = Loading([UP, NONE, (0.0, 0.0, 0.01)], [(0.0,) * 3, (0.0, 30.0, 0.0), (0.0,) * 3])
    segments = loading.segments(9)
    assert [segment.free.tolist() for segment in segments] == [[1, 2], [0, 1, 2], []]
    assert [segment.end.tolist() for segment in segments] == [
        [0.02, 0, 0],
        [0, 30.0, 0],
        [0, 0, 0.01],
    ]
    assert [segment.increments for segment in segments] == [9, 9, 9]


@pytest.mark.parametrize(
    ("loading", "uniaxial"),
    [
        (Loading(UP), True),
        (Loading([DOWN, (-0.02, None, None)], increments=(3, 4)), True),
        (Loading([UP, DOWN]), False),
        (Loading([(0.0, None, 0.01), UP]), False),
        (Loading(UP, (0.0, 1.0, 0.0)), False),
        (Loading([UP, NONE]), False),
        (Loading((0.02, 0.0, None)), False),
    ],
    ids=str,
)
def test_uniaxial_is_a_strain_xx_alone_that_never_turns(loading, uniaxial):
    assert loading.is_uniaxial is uniaxial


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([UP, (0.01, None)],), r"of the loading must be three numbers .*, None\), \(0.01, None\)"),
        (([UP, (2.0, None, None)],), r"strain xx = 2.0 .*; strains are fractions: 2 % is 0.02"),
        (([UP, DOWN], (9.0, 0, 0)), "vertex 1 of the path: stress 9.0 .* prescribed strain, xx"),
        (([UP, DOWN], (0, 0, 0), (1, 2, 3)), "increments of the loading: 3 values for 2 vert"),
    ],
)
def test_wrong_paths_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        Loading(*arguments)
