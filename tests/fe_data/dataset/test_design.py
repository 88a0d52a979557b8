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
from fe_data.schema import INPUT_BOUNDS
from fe_data.settings import Settings

LOW, HIGH = np.transpose(list(INPUT_BOUNDS.values()))


def digest(design):
    return digest_inputs(design.inputs, design.groups)


def unit(design):
    return (design.inputs - LOW) / (HIGH - LOW)


def test_sizes_and_bounds_are_those_of_the_paper():
    for name, size in zip(NAMED_DESIGNS, [50, 100, 50, 100, 300, 10_000], strict=True):
        design = named_design(name)
        assert len(design) == size
        assert np.all((design.inputs >= LOW) & (design.inputs <= HIGH))


@pytest.mark.parametrize("name", ["replicates", "noise"])
def test_every_stratum_of_every_input_holds_one_point_of_the_replicate_designs(name):
    design = named_design(name, seed=5, replicates=1)
    strata = np.sort(np.floor(unit(design) * len(design)), axis=0)
    np.testing.assert_array_equal(strata, np.arange(len(design))[:, None] * np.ones((1, 4)))


def probabilities(design):
    """Inputs as probabilities under their distributions, (n, 4)."""
    if design.name != "train_beta":
        return unit(design)
    return stats.beta.cdf(unit(design), *np.transpose(BETA_SHAPES))


@pytest.mark.parametrize("name", ["test_uniform", "train_uniform", "train_beta"])
def test_inputs_have_their_distributions_and_are_uncorrelated(name):
    points = probabilities(named_design(name, count=2000))
    for column in points.T:
        assert stats.kstest(column, "uniform").pvalue > 1e-3
    assert np.abs(np.corrcoef(points.T) - np.eye(4)).max() < 4 / np.sqrt(2000)


@pytest.mark.parametrize("name", ["test_uniform", "train_uniform", "train_beta"])
def test_fewer_draws_are_the_first_of_more(name):
    few = named_design(name, seed=5, count=25)
    many = named_design(name, seed=5, count=100)
    np.testing.assert_array_equal(few.inputs, many.inputs[:25])
    assert [few.sample(i) for i in range(25)] == [many.sample(i) for i in range(25)]


def test_replicates_share_inputs_and_group_but_not_the_seed():
    design = named_design("replicates", count=3, replicates=4)
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


def test_a_design_is_a_function_of_its_name_and_seed_and_its_digest_sees_the_last_bit():
    design = named_design("noise", 7)
    assert digest(named_design("noise", 7)) == digest(design)
    assert digest(named_design("noise", 8)) != digest(design)
    other = design.inputs.copy()
    other[3, 2] = np.nextafter(other[3, 2], 0)
    assert digest_inputs(other, design.groups) != digest(design)


def test_the_law_of_the_matrix_is_part_of_the_configuration():
    """Folders of the default laws have a digest without them, which stays as they are added."""
    design = named_design("noise", 7)
    before = "5c86189dcb6f95d425df2c35a684c0abf8f61b53a429cd581ece12941de3c25e"
    assert storage.configuration(design, Settings())["digest"] == before
    for law in {"hardening": "voce"}, {"radii": "uniform", "radii_cov": 0.1}:
        other = storage.configuration(design, Settings(**law))
        assert other["settings"].items() >= law.items()
        assert other["digest"] != before


def test_a_design_file_gives_the_same_inputs_again(tmp_path):
    design = named_design("replicates", count=3, replicates=2)
    path = tmp_path / "inputs.csv"
    rows = zip(design.groups, design.inputs.tolist(), strict=True)
    lines = [f"{group},{','.join(map(repr, row))},comment" for group, row in rows]
    path.write_text("group,vf,E_f_GPa,b_m_MPa,c_m,remark\n" + "\n".join(lines))
    assert digest(design_from_file(path)) == digest(design)
    assert len(design_from_file(path, replicates=5)) == 30
