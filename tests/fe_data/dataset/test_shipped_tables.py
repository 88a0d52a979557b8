"""The shipped tables: complete, of the named designs, what this code simulates; their card."""

import functools
from pathlib import Path

import gmsh
import numpy as np
import pytest

from fe_data.dataset.curves import load_curves
from fe_data.dataset.design import NAMED_DESIGNS, design_from_file, named_design
from fe_data.dataset.generate import generate
from fe_data.dataset.table import load_table
from fe_data.mechanics.rve import solve_rve
from fe_data.published.import_published import import_tables
from fe_data.schema import required_outputs
from fe_data.settings import Settings
from fe_data.statistics.compare import compare
from fe_data.statistics.replicates import load_statistics, replicate_statistics

SHIPPED = Path(__file__).parents[3] / "fe_data" / "datasets"
CARD = SHIPPED / "CARD.md"
REFERENCE = Path(__file__).parents[4] / "shared" / "reference"


DRAWN = ("test_uniform", "train_uniform", "train_beta")
RVES = {name: f"{name}.csv" for name in NAMED_DESIGNS} | {"reference": "reference_rves.csv.gz"}
FILES = [(name, file, 1) for name, file in RVES.items()]
FILES += [(name, f"draws/{name}.csv", 24) for name in DRAWN]


@functools.cache
def shipped_table(file):
    return load_table(SHIPPED / file)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "file", "draws"), FILES, ids=str)
def test_every_row_is_of_its_design(name, file, draws):
    table = shipped_table(file)
    spec = NAMED_DESIGNS[name]
    design = named_design(name, count=draws * spec.count)
    assert len(table) == len(design) == draws * spec.count * spec.replicates
    assert table.inputs == pytest.approx(design.inputs, rel=1e-12)
    assert table.group.tolist() == design.groups.tolist()
    assert table.seed[::7].tolist() == [design.sample(i).seed for i in range(0, len(design), 7)]
    assert (table.status == "ok").all()
    assert np.isfinite(table.outputs).all()
    if draws > 1:
        first = (SHIPPED / f"{name}.csv").read_text()
        assert (SHIPPED / file).read_text().startswith(first)


@pytest.fixture(scope="module")
def reference():
    return load_statistics(SHIPPED / "reference.csv")


def test_the_reference_is_that_of_its_rves(reference):
    rves = replicate_statistics(shipped_table(RVES["reference"]))
    assert (reference.X == rves.X).all()
    assert reference.group.tolist() == list(range(200))
    assert (reference.count == 50).all()
    for name in ("mean", "std", "standard_error"):
        expected = getattr(rves, name)
        np.testing.assert_allclose(getattr(reference, name), expected, rtol=1e-8, atol=1e-12)
    scale = rves.std[:, :, None] * rves.std[:, None]
    assert (np.abs(reference.covariance - rves.covariance) <= 1e-8 * scale + 1e-20).all()


def test_the_reference_lies_within_the_bounds_of_mechanics(reference):
    """E between that of the matrix and Voigt's, ν between those of the phases, fibres harden."""
    vf, E_f, b_m, c_m = reference.X.T
    b, c, E, nu, p = reference.mean.T
    assert ((E > 100) & (vf * E_f + (1 - vf) * 100 > E)).all()
    assert ((nu > 0.25) & (nu < 0.3)).all()
    assert (b > b_m).all()
    assert ((c > 0.7 * c_m) & (c < 1.05 * c_m)).all()
    assert ((p >= 0) & (p <= 1)).all()
    assert (np.linalg.eigvalsh(reference.covariance) > -1e-9).all()


ROWS = [pytest.param(*row, marks=pytest.mark.slow if row != FILES[1] else ()) for row in FILES]


@pytest.mark.slow
@pytest.mark.skipif(gmsh.__version__ != "4.15.0", reason="made with gmsh 4.15.0")
@pytest.mark.parametrize(("name", "file", "draws"), ROWS)
def test_the_last_row_is_simulated_again(name, file, draws):
    table = shipped_table(file)
    design = named_design(name, count=draws * NAMED_DESIGNS[name].count)
    sample = design.sample(len(table) - 1)
    again = solve_rve(sample.inputs, Settings(), seed=sample.seed)
    effective = again.result().effective
    values = [effective[name] for name in required_outputs()]
    assert values == pytest.approx(table.outputs[-1].tolist(), rel=1e-6, abs=1e-6)
    if file == "train_uniform.csv":
        curves = load_curves(SHIPPED / file)
        np.testing.assert_allclose(curves.strain, again.history["strain"][1:, 0], rtol=1e-6)
        np.testing.assert_allclose(curves.stress[-1], again.history["stress"][1:, 0], rtol=1e-6)


@pytest.mark.slow
@pytest.mark.skipif(not REFERENCE.is_dir(), reason="the published tables are not here")
def test_bias_against_the_published_tables(tmp_path):
    """Half as many RVEs as were published: the means agree although the fibres lie elsewhere.

    With the published scatter, the standard error of a mean bias is 0.25 % of b and of c, 0.05 % of
    E and 0.02 % of nu.
    """
    path = REFERENCE / "replicates_10.csv"
    head, *rows = path.read_text(encoding="utf-8").splitlines(keepends=True)
    half = tmp_path / "half.csv"
    half.write_text(head + "".join(rows[::2]), encoding="utf-8")
    generate(design_from_file(half), Settings(), tmp_path / "rves", jobs=2, silent=True)
    comparison = compare(load_table(tmp_path / "rves" / "dataset.csv"), load_table(path))
    limits = [0.010, 0.010, 0.002, 0.0005, 0.04]  # b, c, E, nu, p
    assert (np.abs(comparison.bias) < limits).all(), comparison.bias
    ratio = np.divide(*comparison.scatter[:, :4])
    assert ((ratio > 1 / 1.5) & (ratio < 1.5)).all(), ratio


def test_the_card_says_how_many_test_rves_are_out_of_distribution():
    share, low, high = outside(SHIPPED)
    words = f"{share:.0%}".replace("%", " %"), f"`train_beta`, {low:.3f}–{high:.3f}."
    line = next(line for line in CARD.read_text().splitlines() if words[1] in line)
    assert f"Of the RVEs in `test_uniform`, {words[0]} have" in line


def outside(folder):
    """Share of the test RVEs outside the range of vf of the second training set, and the range."""
    vf, of_test = (
        load_table(folder / f"{n}.csv").inputs[:, 0] for n in ("train_beta", "test_uniform")
    )
    low, high = min(vf), max(vf)
    return np.mean((of_test < low) | (of_test > high)), low, high


def test_the_card_says_how_rves_scatter_and_how_well_the_reference_is_known(reference):
    """Smallest and largest deviation of RVEs, largest error of means."""
    card = " ".join(CARD.read_text(encoding="utf-8").split())
    names = required_outputs()
    for name, unit in (("b_eff_MPa", "MPa"), ("E_eff_GPa", "GPa")):
        std = reference.std[:, names.index(name)]
        error = reference.standard_error[:, names.index(name)]
        assert f"{min(std):.2g} to {max(std):.2g} {unit} in `{name}`" in card
        assert f"{max(error):.2g} {unit}" in card


@pytest.mark.skipif(not REFERENCE.is_dir(), reason="the published tables are not here")
def test_numbers_of_the_published_tables(tmp_path):
    import_tables(REFERENCE / "published", tmp_path)
    share, low, high = outside(tmp_path)
    words = f"{share:.0%}, outside {low:.3f}–{high:.3f}.".replace("%", " %")
    assert f"In the published tables it is {words}" in CARD.read_text()
