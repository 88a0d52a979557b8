"""A comparison recovers a bias and a scatter that were put in, and pairs by inputs."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from fe_data.__main__ import main
from fe_data.dataset.design import named_design
from fe_data.statistics.compare import check, compare, format_comparison
from tests.fe_data.statistics.tables import table_of

BIAS = np.array([0.01, -0.02, 0.0, 0.001, 0.03])  # relative, but absolute for p_sigma
SCATTER = 0.05


def table(groups=20, replicates=8, scatter=0.0, seed=0, bias=None):
    design = named_design("noise", count=groups, replicates=replicates)
    mean = np.column_stack([design.inputs[:, [2, 3, 1]], 0.3 * np.ones((len(design), 2))])
    noise = np.random.default_rng(seed).standard_normal(mean.shape)
    outputs = mean * (1 + scatter * noise)
    if bias is not None:
        outputs = outputs * np.append(1 + bias[:4], 1.0)
        outputs[:, 4] += bias[4]
    return table_of(design, outputs)


def reordered(original, order):
    samples = ("index", "seed", "group", "inputs", "outputs", "status")
    columns = {name: getattr(original, name)[order] for name in samples}
    return dataclasses.replace(original, **columns)


def test_a_table_equals_itself_in_any_order():
    ours = table(scatter=SCATTER)
    shuffled = reordered(ours, np.random.default_rng(1).permutation(len(ours)))
    comparison = compare(ours, shuffled)
    assert comparison.distance == 0
    assert comparison.unpaired == 0
    assert np.abs(comparison.difference).max() < 1e-14


@pytest.mark.parametrize("replicates", [1, 8])
def test_a_pure_bias_is_recovered_without_spread(replicates):
    comparison = compare(table(bias=BIAS, replicates=replicates), table(replicates=3))
    np.testing.assert_allclose(comparison.bias, BIAS, atol=1e-14)
    np.testing.assert_allclose(comparison.spread, 0, atol=1e-14)


def test_scatter_is_recovered_within_its_sampling_error():
    groups = 400
    replicates = 10
    comparison = compare(table(groups, replicates, SCATTER), table(groups, 5, SCATTER, seed=1))
    # E[s] = c4(n) sigma; the relative standard error of the mean of 400 of them is about 1 %.
    assert comparison.scatter[0] == pytest.approx(0.9727 * SCATTER, rel=0.05)
    assert comparison.scatter[1] == pytest.approx(0.94 * SCATTER, rel=0.05)
    expected = np.array([1, 1, 1, 1, 0.3]) * SCATTER * np.sqrt(1 / 10 + 1 / 5)
    assert comparison.spread == pytest.approx(expected, rel=0.2)
    assert comparison.standard_error == pytest.approx(expected / np.sqrt(groups), rel=0.1)
    assert (np.abs(comparison.bias) < 4 * comparison.standard_error).all()


def test_inputs_that_differ_are_paired_with_the_nearest():
    ours = table(groups=5, replicates=1)
    reference = table(replicates=1)
    moved = ours.inputs + np.array([0.0, 4.0, 0.0, 0.0])  # 1 % of the box
    comparison = compare(ours, dataclasses.replace(ours, inputs=moved))
    assert comparison.distance == pytest.approx(0.01)
    assert "5 pairs of nearest inputs, up to 0.01 of the input range apart" in format_comparison(
        comparison
    )
    comparison = compare(reordered(reference, np.arange(3)), reference)
    assert len(comparison.difference) == 3
    assert comparison.unpaired == 17
    with pytest.raises(ValueError, match="do not hold the same inputs"):
        check(reordered(reference, np.arange(19)), reference, 1e-6)


def test_the_command_fails_where_rows_differ(tmp_path, capsys):
    names = "vf,E_f_GPa,b_m_MPa,c_m,b_eff_MPa,c_eff,E_eff_GPa,nu_eff,p_sigma"
    files = [str(tmp_path / f"{name}.csv") for name in ("ours", "reference")]
    for file, factor in zip(files, (1.02, 1.0), strict=True):
        rows = [f"0.2,400,{b},0.4,{b * factor!r},0.3,120,0.29,0.1" for b in (350.0, 400.0)]
        Path(file).write_text("\n".join([names, *rows]), encoding="utf-8")
    assert main(["compare", *files]) == 0
    assert main(["compare", *files, "--tolerance", "0.03"]) == 0
    assert main(["compare", *files, "--tolerance", "0.01"]) == 1
    assert "last bit" not in capsys.readouterr().out
    assert main(["compare", files[1], files[1], "--tolerance", "0"]) == 0
    assert "bitwise equal" in capsys.readouterr().out


def test_rows_are_checked_one_by_one_and_named_by_their_index():
    ours = dataclasses.replace(table(), index=np.arange(len(table())) + 100)
    changed = dataclasses.replace(ours, outputs=ours.outputs.copy())
    assert check(ours, changed, 0.0) == (0.0, [])
    changed.outputs[3, 0] *= 1 + 3e-6
    changed.outputs[7, 4] += 3e-6  # p_sigma: absolute
    largest, rows = check(changed, ours, 1e-6)
    assert rows == [103, 107]
    assert largest == pytest.approx(3e-6, rel=1e-3)
    assert check(changed, ours, 1e-5)[1] == []


def test_a_matrix_without_hardening_has_b_of_zero():
    """A table equals itself there too; what differs from zero differs wholly."""
    ours = table(replicates=1)
    reference = table(replicates=1)
    ours.outputs[[2, 3], 0] = reference.outputs[[2, 4], 0] = 0.0
    assert check(ours, ours, 0.0) == (0.0, [])
    assert not compare(ours, ours).difference.any()
    assert check(ours, reference, 0.5) == (1.0, [3, 4])
    assert compare(ours, reference).difference[2:5, 0].tolist() == [0.0, -1.0, 1.0]
