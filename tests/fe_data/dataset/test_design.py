"""Designs cover the input box as the paper says, and every sample has a seed of its own."""

import itertools

import numpy as np
import pytest
from scipy import stats

from fe_data.dataset import storage
from fe_data.dataset.design import (
    BETA_SHAPES,
    NAMED_DESIGNS,
    design_from_file,
    digest_inputs,
    named_design,
    retry_seed,
)
from fe_data.settings import INPUT_BOUNDS, Inputs, Settings

LOW, HIGH = np.transpose(list(INPUT_BOUNDS.values()))


def digest(design):
    return digest_inputs(design.inputs, design.groups)


def unit(design):
    return (design.inputs - LOW) / (HIGH - LOW)


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("test_uniform", 50),
        ("train_uniform", 100),
        ("train_beta", 50),
        ("replicates", 100),
        ("noise", 300),
    ],
)
def test_sizes_and_bounds_are_those_of_the_paper(name, size):
    design = named_design(name)
    assert len(design) == size
    assert np.all((design.inputs >= LOW) & (design.inputs <= HIGH))


@pytest.mark.parametrize("name", ["test_uniform", "train_uniform"])
def test_every_stratum_of_every_input_holds_one_point(name):
    design = named_design(name, seed=5)
    strata = np.sort(np.floor(unit(design) * len(design)), axis=0)
    np.testing.assert_array_equal(strata, np.arange(len(design))[:, None] * np.ones((1, 4)))


def test_beta_design_is_a_latin_hypercube_in_probability():
    design = named_design("train_beta", seed=5)
    a, b = np.transpose(BETA_SHAPES)
    probability = stats.beta.cdf(unit(design), a, b)
    strata = np.sort(np.floor(probability * len(design)), axis=0)
    np.testing.assert_array_equal(strata, np.arange(len(design))[:, None] * np.ones((1, 4)))


def test_beta_design_has_the_moments_of_its_distributions():
    a, b = np.transpose(BETA_SHAPES)
    points = unit(named_design("train_beta", count=2000))
    # Stratification makes the error of the mean O(1/n), far below the Monte Carlo 1/sqrt(n).
    np.testing.assert_allclose(points.mean(axis=0), stats.beta.mean(a, b), atol=1e-3)
    np.testing.assert_allclose(points.std(axis=0), stats.beta.std(a, b), rtol=5e-3)


def test_inputs_are_uncorrelated():
    correlation = np.corrcoef(unit(named_design("test_uniform", count=2000)).T)
    assert np.abs(correlation - np.eye(4)).max() < 4 / np.sqrt(2000)


def test_replicates_share_inputs_and_group_but_not_the_seed():
    design = named_design("replicates", count=3, microstructures=4)
    samples = [design.sample(index) for index in range(12)]
    for group, members in itertools.groupby(samples, key=lambda sample: sample.group):
        members = list(members)
        assert len(members) == 4
        assert {sample.inputs for sample in members} == {design.sample(4 * group).inputs}
    assert len({sample.seed for sample in samples}) == 12


def test_seeds_do_not_repeat_between_samples_designs_seeds_and_retries():
    samples = [
        named_design(name, seed, count=100).sample(index).seed
        for name in NAMED_DESIGNS
        for seed in (0, 1)
        for index in range(100)
    ]
    seeds = [*samples, *map(retry_seed, samples)]
    assert len(set(seeds)) == len(seeds)
    assert all(0 <= seed < 2**63 for seed in seeds)


def test_a_design_is_a_function_of_its_name_and_seed():
    assert digest(named_design("noise", 7)) == digest(named_design("noise", 7))
    assert digest(named_design("noise", 7)) != digest(named_design("noise", 8))


def test_numbers_of_numpy_are_numbers():
    design = named_design("noise", np.int64(7), count=np.int32(3), microstructures=np.uint8(2))
    assert storage.configuration(design, Settings()) == storage.configuration(
        named_design("noise", 7, count=3, microstructures=2), Settings()
    )
    assert Inputs(np.float32(0.25), 400, np.int64(300), np.float64(0.5)) == Inputs(
        0.25, 400.0, 300.0, 0.5
    )


@pytest.mark.parametrize(
    "settings",
    [Settings(E_m_GPa=100, a_MPa=np.int64(400)), Settings(increments=np.int64(50))],
)
def test_equal_settings_have_one_digest(settings):
    design = named_design("noise", 7)
    assert storage.configuration(design, settings) == storage.configuration(design, Settings())
    assert (
        storage.configuration(design, settings)["digest"]
        == (storage.configuration(design, Settings())["digest"])
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_fibres": 30.0}, "n_fibres = 30.0 must be an integer"),
        ({"strain": "0.05"}, "strain = '0.05' must be a number"),
        ({"strain": None}, "strain = None must be a number"),
        ({"resolution": [4]}, "resolution = [4] must be a number"),
        ({"strain": float("nan")}, "strain = nan is out of range: allowed is [0.0001, 0.5]"),
    ],
)
def test_what_is_no_number_is_refused(options, message):
    with pytest.raises(ValueError) as refusal:  # noqa: PT011 the whole message is compared
        Settings(**options)
    assert str(refusal.value) == message


def test_digest_sees_the_last_bit():
    design = named_design("test_uniform")
    other = design.inputs.copy()
    other[3, 2] = np.nextafter(other[3, 2], 0)
    assert digest_inputs(other, design.groups) != digest(design)


def test_a_design_file_gives_the_same_inputs_again(tmp_path):
    design = named_design("replicates", count=3, microstructures=2)
    path = tmp_path / "inputs.csv"
    rows = [
        f"{group},{','.join(map(repr, row))},comment"
        for group, row in zip(design.groups, design.inputs.tolist(), strict=True)
    ]
    path.write_text("group,vf,E_f_GPa,b_m_MPa,c_m,remark\n" + "\n".join(rows))
    again = design_from_file(path)
    assert digest(again) == digest(design)
    assert len(design_from_file(path, microstructures=5)) == 30


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (
            ("beta",),
            {},
            "design = 'beta' is unknown: allowed are test_uniform, train_uniform, train_beta, "
            "replicates, noise",
        ),
        (
            ("noise", -1),
            {},
            "seed = -1 is out of range: allowed are integers in [0, 9223372036854775807]",
        ),
        (
            ("noise", 2**63),
            {},
            "seed = 9223372036854775808 is out of range: allowed are integers in "
            "[0, 9223372036854775807]",
        ),
        (
            ("noise", 1.5),
            {},
            "seed = 1.5 is out of range: allowed are integers in [0, 9223372036854775807]",
        ),
        (
            ("noise",),
            {"count": 0},
            "count = 0 is out of range: allowed are integers in [1, 1000000]",
        ),
        (
            ("noise",),
            {"count": True},
            "count = True is out of range: allowed are integers in [1, 1000000]",
        ),
        (
            ("noise",),
            {"count": 1000, "microstructures": 1001},
            "microstructures = 1001 is out of range: allowed are integers in [1, 1000]",
        ),
    ],
)
def test_bad_designs_are_refused(arguments, options, message):
    with pytest.raises(ValueError) as refusal:  # noqa: PT011 the whole message is compared
        named_design(*arguments, **options)
    assert str(refusal.value) == message
