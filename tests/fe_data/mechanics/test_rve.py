"""Volume elements from Python and from the command line."""

import functools
import json
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from fe_data import schema
from fe_data.__main__ import main
from fe_data.geometry.microstructure import Microstructure, random_microstructure
from fe_data.loading import Loading
from fe_data.mechanics.plots import plot_rve
from fe_data.mechanics.properties import elastic_constants
from fe_data.mechanics.rve import solve_rve, uniaxial
from fe_data.schema import INPUT_BOUNDS, required_outputs
from fe_data.settings import Inputs, Settings

RVE = ["--vf", "0.25", "--E-f", "400", "--b-m", "400", "--c-m", "0.4", "--n-fibres", "5"]
INPUTS = Inputs(0.25, 400.0, 400.0, 0.4)
SMALL = Settings(n_fibres=5, increments=30)
COARSE = replace(SMALL, n_fibres=2, resolution=2.0)


# The code generator of dolfinx 0.5, which runs once a machine, uses a name that NumPy 1.25
# deprecated and leaves its files to the garbage collector.
@pytest.mark.filterwarnings("ignore:`product` is deprecated:DeprecationWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_rve_writes_result_picture_and_fields(tmp_path, capsys):
    assert main(["rve", *RVE, "--out", str(tmp_path), "--xdmf"]) == 0
    said = capsys.readouterr().out
    result = json.loads((tmp_path / "result.json").read_text())
    assert set(required_outputs()) <= set(result["effective"]) <= set(schema.output_names())
    for output in map(schema.output, result["effective"]):
        assert f"{output.symbol} {result['effective'][output.name]:.{output.digits}f}" in said
    assert 400 < result["effective"]["b_eff_MPa"] < 700
    assert result["info"]["warning"] == ""
    assert len(result["history"]["stress"]) == 51
    assert (tmp_path / "rve.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "fields.xdmf").read_text().count("<Time ") == 51
    assert (tmp_path / "fields.bin").stat().st_size > 100_000


@pytest.mark.parametrize("earlier", [False, True])
def test_a_file_of_a_user_stays_beside_an_earlier_result_too(tmp_path, capsys, earlier):
    """The result alone does not tell who wrote the other files; no RVE is solved in vain."""
    if earlier:
        result = {"inputs": {}, "seed": 0, "settings": {}, "history": {}}
        (tmp_path / "result.json").write_text(json.dumps(result))
    (tmp_path / "fields.bin").write_bytes(b"mine")
    assert main(["rve", *RVE, "--out", str(tmp_path)]) == 2
    assert "fields.bin was not written by `rve`: give another --out" in capsys.readouterr().err
    assert (tmp_path / "fields.bin").read_bytes() == b"mine"


@functools.cache
def longer_path():
    return solve_rve(INPUTS, COARSE, seed=0).effective


@pytest.mark.usefixtures("brief_picture")
@pytest.mark.parametrize(
    ("options", "code", "warning"),
    [
        (["--strain", "1e-3"], 1, "to fit the hardening curve"),
        (["--loading", "1e-4,free,free"], 0, ""),
    ],
)
def test_a_path_without_a_hardening_curve_has_its_other_properties(
    tmp_path, capsys, options, code, warning
):
    """Nothing is missing where a path was asked for and not its properties: the exit code is 0."""
    small = ["--n-fibres", "2", "--resolution", "2", "--increments", "4", "--out", str(tmp_path)]
    assert main(["rve", *RVE, *small, *options]) == code
    assert "E_eff" in capsys.readouterr().out
    text = (tmp_path / "result.json").read_text()
    assert "NaN" not in text
    result = json.loads(text)
    assert result["effective"].keys() >= {"E_eff_GPa", "nu_eff", "p_sigma"}
    assert not result["effective"].keys() & {"b_eff_MPa", "c_eff"}
    assert warning in result["info"]["warning"]
    longer = longer_path()
    constants = result["effective"]["E_eff_GPa"], result["effective"]["nu_eff"]
    assert constants == pytest.approx((longer.E_eff_GPa, longer.nu_eff), rel=2e-3)


@pytest.mark.parametrize("vf", [0.0, 0.25])
def test_elastic_constants_are_found_where_the_first_increment_yields(vf):
    """Those of the matrix for an RVE without fibres, else those of a path that stays elastic."""
    inputs = replace(INPUTS, vf=vf)
    settings = replace(SMALL, strain=0.3, sigma_y0_MPa=1.0, increments=10)
    rve = solve_rve(inputs, settings, seed=1)
    assert rve.history["yielded_fraction"][1] > 0.01
    elastic = solve_rve(inputs, SMALL, uniaxial(1e-5), seed=1, fit=False).history
    E, nu = elastic_constants(elastic["strain"][1:], elastic["stress"][1:])
    expected = (100.0, 0.3) if vf == 0.0 else (E[0] / 1e3, nu[0])
    constants = (rve.effective.E_eff_GPa, rve.effective.nu_eff)
    assert constants == pytest.approx(expected, rel=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize(
    "corner", [(0, 0, 0, 0), (1, 1, 0, 0), (1, 0, 1, 0), (1, 1, 1, 1)], ids=str
)
def test_rves_of_the_designs_do_not_extrapolate(corner):
    """At corners of the box b changes by 13 % at most; 20 % are reported."""
    inputs = [bounds[i] for bounds, i in zip(INPUT_BOUNDS.values(), corner, strict=True)]
    rve = solve_rve(Inputs(*inputs), replace(SMALL, increments=50), seed=1)
    assert rve.effective.warning == ""


FIBRES = [[0.22, 0.75, 0.1], [0.72, 0.7, 0.2], [0.5, 0.25, 0.15], [0.2, 0.3, 0.08]]  # x, y, radius


def microstructure(rows):
    x, y, radii = np.transpose(rows)
    return Microstructure(np.column_stack([x, y]), radii)


@pytest.mark.usefixtures("brief_picture")
@pytest.mark.parametrize(
    "options",
    [
        "--vf 0.25 --n-fibres 2 --hardening voce --loading=-2e-2,free,free:-1e1",
        "--vf 0.25 --n-fibres 2 --hardening table:{}/table.csv --loading {}/paths.csv",
        "--microstructure {}/fibres.csv",
    ],
)
def test_a_result_on_disk_gives_the_same_rve_in_python(tmp_path, options):
    """Given fibres are those of the file, whose area is the volume fraction."""
    fibres = "\n".join(["radius,y,x", *(f"{r},{y},{x}" for x, y, r in FIBRES)])
    (tmp_path / "fibres.csv").write_text(fibres)
    (tmp_path / "paths.csv").write_text("strain_xx,increments\n0.01,4\n,3\n")
    (tmp_path / "table.csv").write_text("stress_MPa,plastic_strain\n400,0\n460,0.02\n500,0.1\n")
    words = options.replace("{}", str(tmp_path)).split()
    law = [] if "table" in options else ["--b-m", "400", "--c-m", "0.4"]
    command = ["rve", "--E-f", "400", *law, "--increments", "8", "--resolution", "3"]
    assert main([*command, *words, "--out", str(tmp_path / "rve")]) in (0, 1)
    result = json.loads((tmp_path / "rve" / "result.json").read_text())
    from_file = "--microstructure" in words
    if from_file:
        assert result["fibres"] == FIBRES
        assert 0 < result["anisotropy"]["spread"] < 0.3
    settings = Settings(**result["settings"])
    fibres = {"microstructure": microstructure(FIBRES)} if from_file else {"seed": result["seed"]}
    again = Inputs(**result["inputs"]), settings, Loading(**result["loading"])
    assert result["history"]["stress"] == solve_rve(*again, **fibres).history["stress"].tolist()


@pytest.mark.parametrize(
    ("micro", "error"),
    [
        (microstructure(FIBRES), 2e-4),
        (microstructure([[0.25, 0.25, 0.25]]), 1e-3),
        (random_microstructure(0.35, 2, 12), 2e-4),
    ],
    ids=["given", "grazing", "random"],
)
def test_fibres_of_equal_shear_modulus_have_the_bulk_modulus_of_hill(micro, error):
    """R. Hill, J. Mech. Phys. Solids 12 (1964) 199: exact for any microstructure; plane strain."""
    settings = Settings(nu_m=0.45, nu_f=0.0)
    G = 1e5 / 2.9  # E_m = 100 GPa
    inputs = Inputs(micro.volume_fraction, 2 * G / 1e3, 400.0, 0.4)
    biaxial = Loading((1e-5, 1e-5, 0.0))
    xx, yy = solve_rve(inputs, settings, biaxial, microstructure=micro).history["stress"][-1, :2]
    k_m, k_f = (G / (1 - 2 * nu) for nu in (settings.nu_m, settings.nu_f))
    vf = micro.volume_fraction
    k = 1 / (vf / (k_f + G) + (1 - vf) / (k_m + G)) - G
    assert (xx + yy) / 2 == pytest.approx(2e-5 * k, rel=error)


@pytest.mark.parametrize("strain", [(None, None, 0.05), (None, 0.05, None)])
def test_effective_properties_are_of_uniaxial_loading_only(strain):
    settings = Settings(n_fibres=2, increments=4)
    rve = solve_rve(INPUTS, settings, Loading(strain), seed=1)
    assert rve.effective is None
    assert np.isfinite(rve.p_sigma)
    with pytest.raises(ValueError, match="fit = True needs uniaxial loading, a strain xx alone"):
        solve_rve(INPUTS, settings, Loading(strain), seed=1, fit=True)


def test_compression_has_the_properties_of_tension():
    tension, compression = (
        solve_rve(INPUTS, SMALL, uniaxial(strain), seed=1).effective for strain in (0.05, -0.05)
    )
    assert compression.b_eff_MPa == pytest.approx(tension.b_eff_MPa, rel=1e-3)
    assert compression.nu_eff == pytest.approx(tension.nu_eff, rel=1e-6)


@pytest.mark.slow
def test_titles_of_neighbouring_panels_do_not_touch():
    """With as many digits as at the default size: 30 fibres, 5,000 triangles."""
    rve = solve_rve(INPUTS, replace(SMALL, n_fibres=30, increments=4), seed=1)
    figure = plot_rve(rve)
    FigureCanvasAgg(figure).draw()
    extents = [axes.title.get_window_extent() for axes in figure.axes[:4]]
    ends = [(extent.x0, extent.x1) for extent in extents]
    assert all(left[1] + 10 < right[0] for left, right in pairwise(sorted(ends)))
