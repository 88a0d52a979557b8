import numpy as np

from bench.scoreboard import registry, worker
from bench.scoreboard.registry import LIBRARIES, ONE, PEERS
from figures.pipeline.paths import ROOT

# Version and checksum of the code and pins of each estimator.
VERSIONS = {
    "ours.Default": (3, "5a347b99"),
    "ours.ExactConstant": (2, "82b6306d"),
    "ours.ExactByInput": (2, "0d401729"),
    "ours.FunctionAnchored": (4, "26f569a9"),
    "scikit_learn.GaussianProcess": (2, "8123e5e8"),
    "scikit_learn.Restarted": (1, "eb11b4ef"),
    "botorch.SingleTask": (1, "3f89fcb0"),
    "botorch.Warped": (1, "578425df"),
    "botorch.MultiTask": (1, "d6c01999"),
    "botorch.Saas": (1, "88f59306"),
    "smt.Kriging": (1, "5bc9a168"),
    "hetgpy.HeteroscedasticProcess": (1, "5334a0d0"),
    "laplace.Network": (1, "8070fca3"),
    "pytorch.DeepEnsemble": (1, "b2554108"),
    "mapie.GradientBoosting": (1, "6ed0cd68"),
    "ours.ExactPaper": (2, "2b6b5568"),
    "ours.Anchored": (2, "76094495"),
    "ours.Vanilla": (1, "bf630e49"),
    "ours.ExactReplicates": (2, "4d5a4d6c"),
    "hetgpy.WithReplicates": (1, "d1e2a391"),
    "scikit_learn.WithReplicates": (1, "428313c0"),
    "ours.ExactFields": (2, "16392c50"),
    "scikit_learn.OnFields": (1, "e90d8d5f"),
    "smt.MultiFidelity": (2, "2f0a291a"),
}


def test_what_has_changed_has_a_new_version():
    """Where results change, raise the version in the registry; then write both down here."""
    assert {peer.name: (peer.version, peer.digest) for peer in PEERS} == VERSIONS


def test_a_digest_is_of_the_code_that_a_class_uses_and_of_the_pins(tmp_path, monkeypatch):
    """A class beside it may change, and so may what it does not use."""
    monkeypatch.setattr(registry, "LIBRARIES", tmp_path)
    code = "WIDTH = 1\nOTHER = 2\n\n\nclass Own:\n    width = WIDTH\n"
    found = []
    for text, pins in [
        (code, "numpy==1"),
        (code.replace("OTHER = 2", "OTHER = 3") + "\n\nclass Beside:\n    pass\n", "numpy==1"),
        (code.replace("WIDTH = 1", "WIDTH = 4"), "numpy==1"),
        (code, "numpy==2"),
    ]:
        (tmp_path / "made.py").write_text(text)
        (tmp_path / "made.txt").write_text(pins)
        found.append(registry.Peer("made", "Own", ONE).digest)
    assert found[0] == found[1]
    assert len(set(found)) == 3


def test_every_package_of_every_library_is_pinned():
    assert {path.stem for path in LIBRARIES.glob("*.py")} == {peer.library for peer in PEERS}
    pins = {path.stem: path.read_text().split() for path in LIBRARIES.glob("*.txt")}
    assert set(pins) == {peer.library for peer in PEERS if not peer.ours}
    assert all(pin.count("==") == 1 for lines in pins.values() for pin in lines)
    torches = {pin for lines in pins.values() for pin in lines if pin.startswith("torch==")}
    assert torches <= set((ROOT / "constraints.txt").read_text().split())


def test_noise_by_regression_of_log_variances_grows_as_it_should():
    """Equal inputs beside the training cells; the noise grows with the first input."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (40, 2))
    points = rng.uniform(-1, 1, (12, 2)).repeat(15, axis=0)

    def observed(X):
        std = np.exp(-2.0 + X[:, 0])
        return (np.sin(2 * X[:, 1]) + std * rng.normal(size=len(X)))[:, None]

    given = {"X": X, "y": observed(X), "X_repeated": points, "y_repeated": observed(points)}
    model = worker.load(LIBRARIES / "scikit_learn.py", "WithReplicates")()
    model.fit(worker.Given(**given, X_test=X[:0], groups=np.arange(12).repeat(15)))
    X = np.array([[-0.8, 0.0], [0.8, 0.0]])
    found = 0.5 * np.log(model.variances(X)[:, 0])
    np.testing.assert_allclose(found, -2.0 + X[:, 0], atol=0.25)
    mean, std = model.predict(X)
    np.testing.assert_allclose(mean[:, 0], 0.0, atol=0.3)
    assert np.all(std[:, 0] > np.sqrt(model.variances(X)[:, 0]))
