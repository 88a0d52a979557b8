"""Laws at points: tangents, strengths and closed forms; evolution against SciPy."""

import itertools

import numpy as np
import pytest
import torch
from scipy.integrate import solve_ivp

from fe_data import (
    Damage,
    HardeningTable,
    Interface,
    Isotropic,
    Loading,
    Material,
    Microstructure,
    Phases,
    Settings,
    VolumeFraction,
    YieldStress,
    law,
    save_fields,
    solve_composite,
)
from fe_data.composite.implicit import root
from fe_data.composite.material_points import MaterialPoints
from fe_data.composite.properties import solve_material
from tests.fe_data.perzyna import perzyna

METAL = Isotropic(70.0, 0.33)
EPOXY = Isotropic(3.76, 0.39)
VOCE = YieldStress(60.0, 50.0, 0.02, "voce")
STRONGER = YieldStress(80.0, 60.0, 0.02, "voce")
TABLE = HardeningTable([0.0, 0.01, 0.1, 1.0], [300.0, 420.0, 500.0, 600.0])
NO_FIBRES = Microstructure(np.empty((0, 2)), np.empty(0))
LATERAL = (None,) * 5  # components that are free in a uniaxial test


CHABOCHE = {"C1_MPa": 3e4, "gamma1": 300.0, "C2_MPa": 2e3, "gamma2": 0.0}
CONE = {"friction_angle_deg": 25.0, "dilation_angle_deg": 10.0}
MATERIALS = {
    "j2 power": Material(METAL, "j2", {"yield_stress": YieldStress(300.0, 400.0, 0.4)}),
    "j2 table": Material(METAL, "j2", {"yield_stress": TABLE}),
    "chaboche": Material(METAL, "chaboche", {"yield_stress": VOCE, **CHABOCHE}),
    "cone": Material(EPOXY, "drucker_prager", {"compression": STRONGER, **CONE}),
    "associated cone": Material(
        EPOXY,
        "drucker_prager",
        {"compression": STRONGER, "friction_angle_deg": 25.0, "dilation_angle_deg": 25.0},
    ),
    "paraboloid": Material(
        EPOXY,
        "paraboloidal",
        {"tension": VOCE, "compression": STRONGER, "plastic_poisson_ratio": 0.3},
    ),
    "own": Material(METAL, "perzyna", {"yield_stress_MPa": 100.0, "viscosity_MPa_s": 1e4}),
}


def simulate(material, loading, increments=20):
    """Averages of a homogeneous cell: a test of the material."""
    phases = Phases(material, Material(METAL))
    return solve_composite(
        phases,
        NO_FIBRES,
        loading,
        increments=increments,
        resolution=1,
        tolerance=1e-10,
        silent=True,
    ).history


@pytest.mark.parametrize("material", MATERIALS.values(), ids=MATERIALS)
def test_tangents_are_the_derivatives_of_the_stress(material):
    rng = np.random.default_rng(0)
    points = MaterialPoints(material)
    first, second = rng.normal(scale=0.02, size=(2, 60, 6))
    old = points.evaluate(first, points.rest(60)).state
    response = points.evaluate(first + second, old)
    assert (response.state["p"] > old["p"]).mean() > 0.6
    tangent = response.tangent()
    step = 1e-6
    for j in range(6):
        change = step * np.eye(6)[j]
        ahead, behind = (points.evaluate(first + second + s * change, old) for s in (1, -1))
        differences = (ahead.stress - behind.stress) / (2 * step)
        scale = np.abs(material.elasticity.stiffness).max()
        np.testing.assert_allclose(tangent[:, :, j], differences, atol=1e-6 * scale)


@pytest.mark.parametrize("tension", [True, False])
@pytest.mark.parametrize("name", sorted(MATERIALS.keys() - {"own"}))
def test_a_law_begins_to_flow_at_its_first_yield(name, tension):
    material = MATERIALS[name]
    points = MaterialPoints(material)
    stress = material.first_yield(tension=tension) * (1 if tension else -1) * np.eye(6)[0]
    strain = np.linalg.solve(material.elasticity.stiffness, stress)
    at = points.evaluate(np.array([0.999 * strain, 1.001 * strain]), points.rest(2))
    assert at.state["p"][0] == 0 < at.state["p"][1]


def test_no_strain_has_the_elastic_tangent():
    for material in MATERIALS.values():
        points = MaterialPoints(material)
        tangent = points.evaluate(np.zeros((1, 6)), points.rest(1)).tangent()[0]
        np.testing.assert_allclose(tangent, material.elasticity.stiffness, rtol=1e-9, atol=1e-3)


def test_a_root_that_does_not_exist_is_nan():
    yes = torch.tensor([True])
    one = torch.ones(1, dtype=torch.float64)
    roots = torch.func.vmap(lambda x, w: root(lambda y: 1 + y, x, where=w))(one, yes)
    assert torch.isnan(roots).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", MATERIALS)
def test_however_small_a_plastic_step_is_the_law_has_a_stress(name):
    """Rounding errors of the yield function are as large as the smallest steps change it."""
    points = MaterialPoints(MATERIALS[name])
    rng = np.random.default_rng(0)
    strain = 0.02 * rng.normal(size=(400, 6))
    at = points.evaluate(strain, points.rest(len(strain)))
    for size in np.logspace(-14, -5, 19):
        change = size * strain + 0.1 * size * np.abs(strain) * rng.normal(size=strain.shape)
        assert np.isfinite(points.evaluate(strain + change, at.state).stress).all()


def test_rounding_errors_do_not_hide_the_root_of_several_equations():
    """Yield functions are exceeded by at most a billionth of them: (y + a) - (y + K x) = 0."""
    K = torch.tensor([[4000.0, 300.0], [100.0, 2000.0]], dtype=torch.float64)
    rng = np.random.default_rng(0)
    y = torch.from_numpy(rng.uniform(60.0, 70.0, size=(4000, 2)))
    a = 1e-9 * y * torch.from_numpy(rng.uniform(size=(4000, 2)))

    def solve(a, y):
        def residual(x, a, y):
            return (y + a) - (y + K[:, 0] * x[0] + K[:, 1] * x[1])

        return root(residual, a / 3000, a, y, where=torch.tensor(True))

    x = torch.func.vmap(solve)(a, y)
    torch.testing.assert_close(x, torch.linalg.solve(K, a.T).T, rtol=0.0, atol=1e-16)


@pytest.mark.parametrize("excess", [250.0, 10.0, 1.0, 0.3])
def test_a_steep_curve_yields_however_small_the_increment(excess):
    """With b p^0.01 = excess, p = (excess / b)^100; its slope is c excess / p."""
    b, c = 400.0, 0.01
    of_excess = torch.tensor([excess], dtype=torch.float64, requires_grad=True)
    yes = torch.tensor([True])
    solve = torch.func.vmap(lambda a, w: root(lambda p, a: a - b * p**c, a / 1e5, a, where=w))
    p = solve(of_excess, yes)
    p.sum().backward()
    exact = max((excess / b) ** (1 / c), 1e-300)
    assert p.item() == pytest.approx(exact, rel=1e-9)
    slope = exact / (c * excess) if exact > 1e-300 else 0.0
    assert of_excess.grad.item() == pytest.approx(slope, rel=1e-7)


@pytest.mark.parametrize(
    ("name", "sign", "curve"),
    [
        ("j2 power", 1, YieldStress(300.0, 400.0, 0.4)),
        ("j2 table", -1, TABLE.yield_stress),
        ("paraboloid", 1, VOCE),
        ("paraboloid", -1, STRONGER),
        ("cone", -1, STRONGER),
    ],
)
def test_uniaxial_curves_are_those_of_the_parameters(name, sign, curve):
    """σ = σ_y(p), with p the plastic strain along the test."""
    history = simulate(MATERIALS[name], Loading((sign * 0.06, *LATERAL)))
    stress = history["stress"][-1, 0]
    E = 1e3 * MATERIALS[name].elasticity.E_GPa
    assert sign * stress == pytest.approx(curve(0.06 - sign * stress / E), rel=1e-8)
    np.testing.assert_allclose(history["stress"][-1, 1:], 0.0, atol=1e-6)


def perfect(name, **parameters):
    return Material(EPOXY, name, parameters)


def test_strengths_of_the_paraboloid():
    material = perfect("paraboloidal", tension=93.0, compression=124.0, plastic_poisson_ratio=0.32)
    shear = simulate(material, Loading((None, None, None, 0.1, None, None)))
    assert shear["stress"][-1, 3] == pytest.approx(np.sqrt(93.0 * 124.0 / 3), rel=1e-8)
    tension = simulate(material, Loading((0.1, *LATERAL)))
    plastic = tension["plastic_strain"][-1]
    assert plastic[1] == pytest.approx(-0.32 * plastic[0], rel=1e-8)
    # Equal biaxial stress: 2 s² + 4 s (σ_c - σ_t) = 2 σ_c σ_t
    biaxial = simulate(material, Loading((0.1, 0.1, None, None, None, None)))
    s = biaxial["stress"][-1, 0]
    assert s**2 + 2 * s * (124.0 - 93.0) == pytest.approx(93.0 * 124.0, rel=1e-8)


def test_strengths_and_dilation_of_the_cone():
    material = perfect("drucker_prager", compression=100.0, **CONE)
    slope, dilation = np.tan(np.radians([25.0, 10.0]))
    tension = simulate(material, Loading((0.1, *LATERAL)))
    strength = 100.0 * (3 - slope) / (3 + slope)
    assert tension["stress"][-1, 0] == pytest.approx(strength, rel=1e-8)
    plastic = simulate(material, Loading((-0.1, *LATERAL)))["plastic_strain"][-1]
    assert plastic[:3].sum() == pytest.approx(-plastic[0] * dilation / (1 - dilation / 3), rel=1e-8)
    # The apex: no shear, and the mean stress that the cohesion allows.
    apex = simulate(material, Loading((0.05, 0.05, 0.05, 0.0, 0.0, 0.0)))["stress"][-1]
    np.testing.assert_allclose(apex[:3], 100.0 * (1 - slope / 3) / slope, rtol=1e-8)
    np.testing.assert_allclose(apex[3:], 0.0, atol=1e-9)


def test_creep_and_relaxation_of_an_own_law():
    """Implicit Euler is exact under constant stress: the rate of p is constant."""
    material = MATERIALS["own"]
    pulled = Loading((None,) * 6, [(150.0, 0, 0, 0, 0, 0)] * 2, (1, 5), time=(1e-9, 10.0))
    history = simulate(material, pulled)
    creep = history["strain"][-1, 0] - 150.0 / 70e3
    assert creep == pytest.approx((150.0 - 100.0) / 1e4 * 10.0, rel=1e-6)
    assert history["time"][-1] == 10.0
    held = Loading([(0.004, *LATERAL)] * 2, increments=(1, 100), time=(1e-9, 0.1))
    stress = simulate(material, held)["stress"][-1, 0]
    # dσ/dt = -E (σ - σ_y) / η
    expected = 100.0 + (0.004 * 70e3 - 100.0) * np.exp(-70e3 / 1e4 * 0.1)
    assert stress == pytest.approx(expected, rel=1e-2)


def uniaxial_chaboche(path, yield_stress):
    """Plastic strain and back stresses after a path of stresses, by SciPy: one dimension."""
    terms = ((CHABOCHE["C1_MPa"], CHABOCHE["gamma1"]), (CHABOCHE["C2_MPa"], CHABOCHE["gamma2"]))
    plastic = 0.0
    X = np.zeros(2)
    for start, end in itertools.pairwise(path):
        sign = np.sign(end - start)

        def rates(_, y, sign=sign):
            return [C * sign - gamma * x for x, (C, gamma) in zip(y, terms, strict=True)]

        def excess(_, y, sign=sign, end=end):
            return sign * (end - y.sum()) - yield_stress

        excess.terminal = True
        if excess(0.0, X) > 0:
            solution = solve_ivp(rates, (0, 1), X, events=excess, rtol=1e-10, atol=1e-9)
            plastic += sign * solution.t[-1]
            X = solution.y[:, -1]
    return plastic, X


CYCLES = (0.0, 260.0, -140.0, 260.0, -140.0, 260.0)  # MPa, with a mean stress


@pytest.mark.slow
@pytest.mark.parametrize(
    ("stresses", "increments"),
    [
        ((0.0, 250.0, -250.0), 10),
        (CYCLES, 10),
    ],
)
def test_loops_and_ratchetting_of_back_stresses(stresses, increments):
    """A Bauschinger loop, and cycles under a mean stress, against an integration in SciPy.

    Implicit Euler steps had errors of 67 % in the loop, and of 21 % after the cycles.
    """
    material = Material(METAL, "chaboche", {"yield_stress": 150.0, **CHABOCHE})
    vertices = [(s, 0, 0, 0, 0, 0) for s in stresses[1:]]
    expected, _ = uniaxial_chaboche(stresses, 150.0)
    history = simulate(material, Loading((None,) * 6, vertices, increments))
    assert history["plastic_strain"][-1, 0] == pytest.approx(expected, rel=1e-8)


@pytest.mark.slow
def test_back_stresses_converge_while_the_direction_of_flow_turns():
    """A circle of shear strains: the error is below 1.1 % with 50 steps per quarter, and halves."""
    points = MaterialPoints(Material(METAL, "chaboche", {"yield_stress": 150.0, **CHABOCHE}))

    def end(steps):
        state = points.rest(1)
        turn = np.linspace(0, 2 * np.pi, 4 * steps + 1)[1:]
        angles = np.concatenate([np.zeros(steps), turn])
        sizes = np.concatenate([np.linspace(0, 0.01, steps + 1)[1:], np.full(4 * steps, 0.01)])
        for size, angle in zip(sizes, angles, strict=True):
            axial, shear = size * np.cos(angle), size * np.sqrt(1.5) * np.sin(angle)
            strain = np.array([[axial, -axial / 2, -axial / 2, shear, 0.0, 0.0]])
            response = points.evaluate(strain, state)
            state = response.state
        return response.stress[0]

    coarse, fine, finest = (end(steps) for steps in (25, 50, 100))
    assert 1.8 < np.linalg.norm(coarse - fine) / np.linalg.norm(fine - finest) < 2.2
    exact = 2 * finest - fine
    assert np.linalg.norm(fine - exact) < 0.011 * np.linalg.norm(exact)


@pytest.mark.parametrize("name", ["j2 power", "chaboche", "paraboloid", "cone"])
def test_laws_do_not_depend_on_the_axes(name):
    """A turned strain has the turned stress: components are permuted, and shear strains too."""
    points = MaterialPoints(MATERIALS[name])
    strain = np.random.default_rng(2).normal(scale=0.02, size=(20, 6))
    stress = points.evaluate(strain, points.rest(20)).stress
    order = [1, 2, 0, 5, 3, 4]  # x → z → y → x
    turned = points.evaluate(strain[:, order], points.rest(20)).stress
    np.testing.assert_allclose(turned, stress[:, order], rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("name", ["elastic", "j2", "paraboloidal"])
def test_a_law_of_ones_own_does_not_replace_a_shipped_one(name):
    with pytest.raises(ValueError, match=f"law '{name}' is one of fe_data's: give yours another"):
        law(name, parameters={}, state={})(perzyna)
    for _ in range(2):  # in a notebook a cell runs twice
        law("twice", parameters={}, state={})(perzyna)


STATE = {"plastic_strain": 6, "p": 0}
SENTENCES = {
    "shape": (lambda C, e, s: ((C @ e)[:4], s), r"stress has the shape \(4,\): it must be \(6,\)"),
    "number": (lambda C, e, s: ((C @ e)[0], s), r"stress has the shape \(\): it must be \(6,\)"),
    "NaN": (lambda C, e, s: (C @ e * torch.nan, s), "stress is not finite at zero strain"),
    "NaN later": (lambda C, e, s: (C @ e / (e[0] < 1e-7), s), "not finite at a strain of 1e-06"),
    "slope": (
        lambda C, e, s: (C @ e + torch.sqrt(e @ e), s),
        "derivative of the stress is not fin",
    ),
    "state NaN": (lambda C, e, s: (C @ e, {**s, "p": s["p"] / 0}), "state 'p' is not finite"),
    "state shape": (
        lambda C, e, s: (C @ e, {**s, "plastic_strain": s["p"]}),
        r"state 'plastic_strain' has the shape \(\): it must be \(6,\)",
    ),
    "new key": (
        lambda C, e, s: (C @ e, {**s, "q": s["p"]}),
        "the state plastic_strain, p, q: it m",
    ),
    "no key": (lambda C, e, _: (C @ e, {}), "returns the state none: it must be plastic_strain, p"),
    "unknown key": (lambda C, e, s: (C @ e * s["q"], s), "fails with KeyError: 'q'; .* a stress"),
    "no pair": (lambda C, e, _: C @ e, r"does not return a pair \(stress, state\)"),
    "nothing": (lambda *_: None, r"does not return a pair \(stress, state\)"),
    "list": (lambda C, e, s: (list(C @ e), s), "the stress is not a tensor"),
    "list of state": (lambda C, e, s: (C @ e, [s]), "the state is not a dictionary of tensors"),
    "if": (lambda C, e, s: (C @ e if e[0] > 0 else e, s), "torch.where instead of if"),
    "single": (lambda C, e, s: ((C @ e).float(), s), "stress is torch.float32: it must be"),
    "rigid": (lambda C, e, s: (C @ torch.zeros_like(e), s), "stress does not depend on the strain"),
}


@pytest.mark.parametrize("name", SENTENCES)
def test_a_law_that_returns_something_else_is_named_before_the_simulation(name):
    update, sentence = SENTENCES[name]
    law(name, parameters={}, state=STATE)(lambda e, s, m: update(m.stiffness, e, s))
    with pytest.raises(ValueError, match=f"^law '{name}' at rest.*{sentence}"):
        simulate(Material(METAL, name), Loading((0.01, None, None)))


@pytest.mark.parametrize(
    ("state", "allowed"),
    [
        ({"q": 3}, "0 for a number and 6 for a tensor"),
        ({"p": 6}, "0 for a number$"),
        ({"plastic_strain": 0}, "6 for a tensor$"),
    ],
)
def test_a_state_variable_has_the_size_that_averages_need(state, allowed):
    with pytest.raises(ValueError, match=f"size of the state .* allowed are {allowed}"):
        law("sizes", parameters={}, state=state)


@pytest.mark.parametrize("size", [0, 6])
@pytest.mark.parametrize("interface", [None, Interface(50.0, 75.0, 20.0, 60.0, 7.0)])
def test_a_law_may_call_a_state_variable_damage(tmp_path, size, interface):
    state = {**STATE, "damage": size}
    law("custom", parameters={}, state=state, first_yield=lambda *_: 50.0)(
        lambda strain, state, material: (material.stiffness @ strain, dict(state))
    )
    material = Material(METAL, "custom")
    solved = solve_material(
        Phases(material, material, interface=interface),
        VolumeFraction(0.2),
        0,
        Settings(n_fibres=1, resolution=2, increments=4),
        Loading((1e-5, None, None)),
        silent=True,
    )
    save_fields(solved.solution, tmp_path / "fields.xdmf")
    assert solved.cracks is None or not solved.cracks.of_elements.any()
    with pytest.raises(ValueError, match="state variable damage"):
        Material(METAL, "custom", damage=Damage(0.1, 5.0, 7.0))


def test_the_first_yield_of_a_law_is_checked():
    for number, value in enumerate((None, np.nan, -1.0)):
        name = f"first{number}"
        law(name, parameters={}, state=STATE, first_yield=lambda *_, v=value: v)(perzyna)
        with pytest.raises(ValueError, match=rf"first_yield of law '{name}' \(tension=True\) = "):
            Material(METAL, name).first_yield(tension=True)
