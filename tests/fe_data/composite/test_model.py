"""The general solver against the other two, and truths of its equations."""

from dataclasses import replace

import numpy as np
import pytest

from fe_data import (
    HardeningTable,
    Inputs,
    Isotropic,
    Loading,
    Material,
    Microstructure,
    Phases,
    Settings,
    TransverselyIsotropic,
    YieldStress,
    effective_constants,
    named_phases,
    solve_composite,
    solve_rve,
)
from fe_data.composite.constants import homogenised
from fe_data.composite.elasticity import PAIRS, TO_KELVIN, rotation
from fe_data.composite.material_points import MaterialPoints
from fe_data.composite.rve import composite_domain, composite_model
from fe_data.composite.stepping import IncrementalModel
from fe_data.composite.tangent import TangentSystem, gmres
from fe_data.geometry.mesh import generate_mesh
from fe_data.geometry.microstructure import random_microstructure
from fe_data.geometry.outline import Outline
from fe_data.loading import IN_PLANE
from fe_data.mechanics.elements import discretise
from fe_data.mechanics.problem import RVEProblem, State
from fe_data.path_following import Follower
from fe_data.settings import PaperPhases
from tests.fe_data.composite.lattices import square_cell

SMALL = Settings(n_fibres=2, resolution=2.0, increments=8, strain=0.02, tolerance=1e-9)
TWO_FIBRES = random_microstructure(0.3, 1, 2)
TABLE = HardeningTable([0.0, 0.004, 0.01, 0.05], [300.0, 420.0, 450.0, 700.0])
PAPER = named_phases("paper")
CARBON = named_phases("carbon_epoxy")


def small(phases, loading, increments=8, **options):
    """An RVE of two fibres on a coarse mesh."""
    settings = {"resolution": 2.0, "tolerance": 1e-9, "silent": True, **options}
    return solve_composite(phases, TWO_FIBRES, loading, increments=increments, **settings)


@pytest.mark.parametrize(
    ("hardening", "b_and_c", "changed"),
    [
        (YieldStress(400.0, 400.0, 0.4), (400.0, 0.4), {}),
        (YieldStress(400.0, 400.0, 0.02, "voce"), (400.0, 0.02), {"hardening": "voce"}),
        (TABLE, (0.0, 1.0), {"hardening": TABLE, "sigma_y0_MPa": 300.0}),
    ],
    ids=["power", "voce", "table"],
)
def test_j2_at_a_point_is_that_of_the_fast_solver(hardening, b_and_c, changed):
    """Uniform strains of both signs, one after the other: the same history variables."""
    domain = discretise(generate_mesh(Outline(TWO_FIBRES, 2.0)))
    paper = PaperPhases.of(Inputs(0.3, 400.0, *b_and_c), replace(SMALL, **changed))
    problem = RVEProblem(domain, paper)
    fast = State(*problem.matrix.weights.shape)
    matrix = Material(Isotropic(100.0, 0.3), "j2", {"yield_stress": hardening})
    points = MaterialPoints(matrix, 4)
    state = points.rest(1)
    x = np.zeros(problem.n + 3)
    for xx, yy, xy in np.random.default_rng(0).normal(scale=0.02, size=(10, 3)):
        x[-3:] = xx, yy, 2 * xy
        problem.internal_force(x, fast)
        fast.accept()
        strain = np.array([[xx, yy, 0.0, xy, 0.0, 0.0]]) * TO_KELVIN
        state = points.evaluate(strain, state).state
        expected = (state["plastic_strain"][0] / TO_KELVIN)[IN_PLANE]
        np.testing.assert_allclose(fast.old.p, state["p"][0], rtol=1e-9)
        plastic_strain = fast.old.plastic_strain.reshape(-1, 3)
        np.testing.assert_allclose(
            plastic_strain, np.tile(expected, (len(plastic_strain), 1)), rtol=1e-9
        )
    assert state["p"][0] > 0.1


@pytest.mark.usefixtures("fast_elements")
@pytest.mark.parametrize(
    ("hardening", "b_and_c", "changed", "loading"),
    [
        (YieldStress(400.0, 400.0, 0.4), (400.0, 0.4), {}, Loading((0.02, None, None))),
        (
            YieldStress(400.0, 400.0, 0.02, "voce"),
            (400.0, 0.02),
            {"hardening": "voce"},
            Loading((0.01, 0.005, None), (0.0, 0.0, 50.0)),
        ),
        (
            TABLE,
            (0.0, 1.0),
            {"hardening": TABLE, "sigma_y0_MPa": 300.0},
            Loading([(0.01, None, 0.0), (0.01, None, 0.008), (0.0, 0.0, 0.0)], increments=6),
        ),
    ],
    ids=["power", "voce", "table"],
)
def test_j2_is_that_of_the_fast_solver(hardening, b_and_c, changed, loading):
    inputs, settings = Inputs(0.3, 400.0, *b_and_c), replace(SMALL, **changed)
    plane = solve_rve(inputs, settings, loading, microstructure=TWO_FIBRES, fit=False, silent=True)
    matrix = Material(Isotropic(100.0, 0.3), "j2", {"yield_stress": hardening})
    general = small(Phases(matrix, Material(Isotropic(400.0, 0.25))), loading)
    assert general.history["yielded_fraction"][-1] > 0.3
    for name in ("strain", "stress", "plastic_strain"):
        expected = plane.history[name]
        values = general.history[name]
        np.testing.assert_allclose(values[:, :4], expected, atol=1e-6 * np.abs(expected).max())
        assert not values[:, 4:].any()


@pytest.mark.usefixtures("fast_elements")
@pytest.mark.parametrize("increments", [4, pytest.param(32, marks=pytest.mark.slow)])
def test_hardening_that_begins_steeply_converges_to_the_stress_of_the_fast_solver(increments):
    """With c = 0.01 a plastic strain of 1e-200 has a tenth of the hardening of one."""
    loading = Loading((0.02, None, None), increments=increments)
    inputs = Inputs(0.3, 400.0, 400.0, 0.01)
    plane = solve_rve(inputs, SMALL, loading, microstructure=TWO_FIBRES, fit=False, silent=True)
    matrix = Material(
        Isotropic(100.0, 0.3), "j2", {"yield_stress": YieldStress(400.0, 400.0, 0.01)}
    )
    general = small(Phases(matrix, Material(Isotropic(400.0, 0.25))), loading)
    assert general.history["yielded_fraction"][-1] > 0.5
    # Both halve increments that fail, but not the same ones.
    stress, expected = (rve.history["stress"][:, 0] for rve in (general, plane))
    np.testing.assert_allclose(stress, expected, rtol=1e-3)


def test_six_components_contain_plane_strain():
    """The same with zz, xz and yz prescribed, in a cell whose displacement has three components."""
    plane = small(PAPER, Loading((0.01, None, None)), increments=3).history["stress"]
    loading = Loading((0.01, None, 0.0, None, 1e-15, None))  # a shear that means nothing
    whole = small(PAPER, loading, increments=3)
    assert whole.model.size == 6
    np.testing.assert_allclose(whole.history["stress"], plane, atol=1e-5)


GENERAL = Loading(
    [(None, 0.004, 0.002, 0.003, None, 0.004), (0.002, None, None, None, 0.003, None)],
    [(30.0, 0, 0, 0, 10.0, 0), (0, -40.0, 5.0, 0, 0, 0)],
    increments=4,
    temperature=(-50.0, -80.0),
)


@pytest.fixture(scope="module")
def general():
    return small(CARBON, GENERAL)


def test_prescribed_and_free_components_are_met(general):
    strain = general.history["strain"][[4, 8]]
    stress = general.history["stress"][[4, 8]]
    wanted, forces = GENERAL.vertices
    is_prescribed = ~np.isnan(wanted)
    np.testing.assert_allclose(strain[is_prescribed], wanted[is_prescribed], atol=1e-15)
    np.testing.assert_allclose(stress[~is_prescribed], forces[~is_prescribed], atol=1e-6)
    temperatures = [0, -12.5, -25, -37.5, -50, -57.5, -65, -72.5, -80]
    assert general.history["temperature"].tolist() == temperatures
    assert general.history["yielded_fraction"][-1] > 0.1


def test_work_of_the_averages_is_the_average_of_the_work(general):
    """Hill and Mandel, for six components: the mean of σ : ε is that of the means."""
    fields = general.fields().values()
    both = np.array([1, 1, 1, 2, 2, 2])  # shear components are twice in a tensor
    work = sum(np.einsum("mq,mqi,mqi,i->", f.weights, f.stress, f.strain, both) for f in fields)
    strain, stress = (general.history[name][-1] for name in ("strain", "stress"))
    for name, mean in (("strain", strain), ("stress", stress)):
        parts = [np.einsum("mq,mqi->i", f.weights, getattr(f, name)) for f in fields]
        np.testing.assert_allclose(sum(parts), mean, atol=1e-9)
    assert work == pytest.approx(strain * both @ stress, rel=1e-7)


def test_opposite_sides_move_by_the_mean_strain(general):
    """v(x + 1) - v(x) = E e_x, and along z the shear strains xz and yz are those of v_z."""
    points = general.model.domain.points
    v = general.displacement()
    xx, yy, _, xy, xz, yz = general.history["strain"][-1]
    for axis, expected in ((0, [xx, xy, 2 * xz]), (1, [xy, yy, 2 * yz])):
        low, high = (np.flatnonzero(points[:, axis] == end) for end in (0.0, 1.0))
        low, high = (side[np.argsort(points[side, 1 - axis])] for side in (low, high))
        np.testing.assert_allclose(v[high] - v[low], [expected] * len(low), atol=1e-14)


def test_newtons_method_is_quadratic():
    """Each residual is about the square of the one before, with the linear solver as it is."""
    domain = composite_domain(CARBON, TWO_FIBRES, 2.0)
    model = composite_model(CARBON, TWO_FIBRES, domain, out_of_plane=True)
    follower = Follower(IncrementalModel(model), 1e-10)
    follower.begin(Loading((0.01, None, None, 0.01, 0.01, None)).segments(1)[0])
    follower.advance(0.5)
    residuals = np.array(follower.residuals)
    assert residuals[0] > 1e-3
    late = residuals[residuals < 0.03]
    assert len(late) >= 3
    orders = np.log(late[2:]) / np.log(late[1:-1])
    assert late[-1] < 1e-10
    assert orders.max() > 1.6


def test_thermal_strain_is_free_and_its_stress_is_held():
    """A homogeneous model: ε = α ΔT where all is free, σ = -C α ΔT where nothing is."""
    one = TransverselyIsotropic(225.0, 15.0, 0.2, 0.07, 15.0, -0.5e-6, 15e-6, axis=30.0)
    phases = Phases(Material(one), Material(one))
    free = small(phases, Loading((None,) * 6, temperature=-100.0), increments=1)
    np.testing.assert_allclose(
        free.history["strain"][-1] * TO_KELVIN, -100.0 * one.expansion, atol=1e-14
    )
    held = small(phases, Loading((0.0,) * 6, temperature=-100.0), increments=1)
    expected = 100.0 * one.stiffness @ one.expansion
    np.testing.assert_allclose(held.history["stress"][-1] * TO_KELVIN, expected, atol=1e-8)


def test_tension_after_cooling_of_an_elastic_cell_is_the_sum_of_both():
    """Free cooling has the strain α ΔT; tension then begins there without stress.

    Tension before cooling, with the strain of its end held, ends in the same state.
    """
    phases = Phases(Material(CARBON.matrix.elasticity), CARBON.fibres)
    free = (None,) * 6
    pull = (0.003, *free[1:])
    cooled = Loading([free, pull], increments=2, temperature=[-100.0, -100.0])
    pulled = Loading([pull, pull], increments=2, temperature=[0.0, -100.0])
    constants = effective_constants(phases, TWO_FIBRES, resolution=2.0)
    thermal = -100.0 * constants.expansion_per_K / [1, 1, 1, 2, 2, 2]
    compliance = np.linalg.inv(1e3 * constants.stiffness_GPa)[:, 0] / [1, 1, 1, 2, 2, 2]
    stress = (0.003 - thermal[0]) / compliance[0]
    histories = [small(phases, loading).history for loading in (cooled, pulled)]
    np.testing.assert_allclose(histories[0]["strain"][2], thermal, atol=1e-10)
    np.testing.assert_allclose(histories[0]["stress"][2], 0.0, atol=1e-6)
    for history in histories:
        np.testing.assert_allclose(history["stress"][-1], stress * np.eye(6)[0], atol=1e-5)
        strain = thermal + compliance * stress
        np.testing.assert_allclose(history["strain"][-1], strain, atol=1e-9)


def test_hookes_law_of_an_axis_in_the_plane():
    """A homogeneous model whose axis is at 30 degrees: σ = C ε, E along the axis is E_L."""
    one = TransverselyIsotropic(225.0, 15.0, 0.2, 0.07, 15.0, axis=30.0)
    strain = 1e-3 * np.array([1.0, -2.0, 0.5, 0.7, -0.4, 0.9])
    solved = small(Phases(Material(one), Material(one)), Loading(tuple(strain)), increments=1)
    expected = one.stiffness @ (strain * TO_KELVIN) / TO_KELVIN
    np.testing.assert_allclose(solved.history["stress"][-1], expected, rtol=1e-10, atol=1e-9)
    n = np.array([np.cos(np.pi / 6), np.sin(np.pi / 6), 0.0])
    along = np.array([n[0] ** 2, n[1] ** 2, 0, np.sqrt(2) * n[0] * n[1], 0, 0])
    assert along @ np.linalg.inv(one.stiffness) @ along == pytest.approx(1 / 225e3)


def test_a_turned_cell_has_the_turned_stiffness():
    """By 90 degrees about z, with fibres whose axis turns as well."""
    x, y = TWO_FIBRES.centres.T
    turned = Microstructure(np.column_stack([1 - y, x]), TWO_FIBRES.radii)
    matrix = Material(Isotropic(3.5, 0.35))
    stiffnesses = []
    for microstructure, axis in ((TWO_FIBRES, 20.0), (turned, 110.0)):
        fibres = Material(TransverselyIsotropic(225.0, 15.0, 0.2, 0.07, 15.0, axis=axis))
        phases = Phases(matrix, fibres)
        domain = composite_domain(phases, microstructure, 8.0)
        model = composite_model(phases, microstructure, domain, out_of_plane=True, elastic=True)
        stiffnesses.append(homogenised(model)[0])
    quarter = rotation(np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]))
    first, second = stiffnesses
    difference = np.linalg.norm(second - quarter @ first @ quarter.T)
    assert difference < 1e-3 * np.linalg.norm(first)  # two meshes
    assert np.linalg.norm(second - first) > 0.05 * np.linalg.norm(first)


def test_stiffness_converges_with_the_mesh():
    """Quadratic elements on parabolic outlines: halved elements have an eighth of the error."""
    phases = named_phases("glass_epoxy")
    moduli = [homogenised(square_cell(phases, 0.3, r))[0][0, 0] for r in (3.0, 6.0, 24.0)]
    coarse, fine = np.abs(np.array(moduli[:2]) / moduli[2] - 1)
    assert fine < 1e-3
    assert coarse / fine > 6


def chain(n, rng, **options):
    """Return an empty system of n nodes, rows and columns of its blocks."""
    neighbours = [(i, j) for i in range(n) for j in range(n) if abs(i - j) <= 2]
    rows, columns = np.array(neighbours).T
    indptr = np.searchsorted(rows, np.arange(n + 1))
    system = TangentSystem(indptr, columns, rng.random((n, 2)), block=2, size=4, **options)
    return system, rows, columns


def test_a_law_without_symmetry_is_solved_by_gmres_and_by_lu():
    rng = np.random.default_rng(0)
    n = 24
    system, rows, columns = chain(n, rng)
    system.values[:] = rng.normal(size=system.values.shape) * 0.3
    system.values[rows == columns] += 6 * np.eye(2)
    system.border[:] = rng.normal(size=system.border.shape)
    system.across[:] = system.border.T + 0.1 * rng.normal(size=system.across.shape)
    system.macro[:] = 40 * np.eye(4)
    free = np.eye(4)[:, [1, 3]]
    rhs = rng.normal(size=2 * n + 2)
    x = system.solve(rhs, free, 1e-11)
    np.testing.assert_allclose(system.product(x, free), rhs, atol=1e-9)
    assert system.counts["lu_factorisations"] == 0
    system.values[rows == columns] -= 12 * np.eye(2)  # no longer positive definite
    system.drop_factor()
    x = system.solve(rhs, free, 1e-11)
    np.testing.assert_allclose(system.product(x, free), rhs, atol=1e-9)
    assert system.counts["lu_factorisations"] == 1
    assert gmres(lambda v: v, lambda v: v, np.zeros(3), 1e-9)[1] == 0


@pytest.mark.parametrize("indefinite", [False, True])
@pytest.mark.parametrize(("skewness", "lu_factorisations"), [(0.1, 0), (30.0, 1)])
def test_a_tangent_far_from_symmetric_is_solved_by_lu(indefinite, skewness, lu_factorisations):
    """As with plastic flow that is not associated, also where interfaces soften."""
    rng = np.random.default_rng(1)
    n = 200
    system, rows, columns = chain(n, rng, indefinite=indefinite)
    system.values[rows == columns] = np.eye(2)
    for shift in (1, 2):
        growing = skewness * np.arange(n - shift)[:, None, None] / n * np.eye(2)
        system.values[columns - rows == shift] = growing
        system.values[columns - rows == -shift] = -growing
    system.macro[:] = np.eye(4)
    rhs = rng.normal(size=2 * n + 4)
    x = system.solve(rhs, np.eye(4), 1e-8)
    np.testing.assert_allclose(system.product(x, np.eye(4)), rhs, atol=1e-6)
    assert system.counts["lu_factorisations"] == lu_factorisations


@pytest.mark.slow
def test_glass_and_epoxy_are_stronger_in_compression_than_in_tension():
    """Across the fibres at v_f = 0.6, far beyond yield; the matrix by 1.5."""
    microstructure = random_microstructure(0.6, 1, 2, 1.04)
    ends = []
    for sign in (1, -1):
        rve = solve_composite(
            named_phases("glass_epoxy"),
            microstructure,
            Loading((sign * 0.03, *(None,) * 5)),
            increments=15,
            resolution=3.0,
            silent=True,
        )
        assert rve.history["yielded_fraction"][-1] > 0.25
        ends.append(abs(rve.history["stress"][-1, 0]))
    assert 1.4 < ends[1] / ends[0] < 2.0


@pytest.mark.parametrize("angle", [45.0, 30.0, -90.0])
def test_tension_at_an_angle_has_the_modulus_of_this_direction(angle):
    """Six components, zz free: 1 / E = mᵀ S m for a homogeneous model, and for a square array."""
    n = np.array([np.cos(np.radians(angle)), np.sin(np.radians(angle)), 0.0])
    m = np.array([n[i] * n[j] for i, j in PAIRS]) * TO_KELVIN
    fibre = Microstructure([[0.5, 0.5]], 0.35)
    same = Material(Isotropic(70.0, 0.3))
    for phases in (Phases(same, same), Phases(same, Material(Isotropic(400.0, 0.2)))):
        constants = effective_constants(phases, fibre, resolution=3.0)
        kelvin = constants.stiffness_GPa * np.outer(TO_KELVIN, TO_KELVIN)
        modulus = 1e3 / (m @ np.linalg.inv(kelvin) @ m)
        if phases.fibres is same:
            assert modulus == pytest.approx(70e3, rel=1e-8)
        pull = Loading((1e-3, *(None,) * 5), increments=1, angle=angle)
        rve = solve_composite(phases, fibre, pull, resolution=3.0, tolerance=1e-9, silent=True)
        strain, stress = (rve.history[name][-1] for name in ("strain", "stress"))
        np.testing.assert_allclose(m @ (strain * TO_KELVIN), 1e-3, rtol=1e-9)
        np.testing.assert_allclose(stress * TO_KELVIN, modulus * 1e-3 * m, atol=1e-9 * modulus)
    with pytest.raises(ValueError, match="angle"):
        Loading((1e-3, None, None), angle=181.0)
