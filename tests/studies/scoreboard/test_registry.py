import numpy as np

from figures.pipeline.paths import ROOT
from studies.scoreboard import registry, worker
from studies.scoreboard.registry import LIBRARIES, ONE, PEERS

# Version and checksum of the code and pins of each estimator.
VERSIONS = {
    "ours.Default": (4, "a098a82a"),
    "ours.ExactConstant": (2, "bf04011c"),
    "ours.ExactByInput": (2, "b6c57439"),
    "ours.FunctionAnchored": (4, "e03d066f"),
    "scikit_learn.GaussianProcess": (2, "01ace618"),
    "scikit_learn.Restarted": (1, "179ffced"),
    "botorch.SingleTask": (1, "6121ce4a"),
    "botorch.Warped": (1, "9721a83f"),
    "botorch.MultiTask": (1, "8b9bde30"),
    "botorch.Saas": (1, "6a3fc928"),
    "smt.Kriging": (1, "6b064c70"),
    "hetgpy.HeteroscedasticProcess": (1, "23f5ef3b"),
    "laplace.Network": (1, "c4972f79"),
    "pytorch.DeepEnsemble": (1, "c25a4b07"),
    "mapie.GradientBoosting": (1, "df95b708"),
    "ours.ExactPaper": (2, "933ef0f9"),
    "ours.Anchored": (2, "867e3514"),
    "ours.Vanilla": (1, "645a8ca9"),
    "ours.ExactReplicates": (2, "bd31754d"),
    "hetgpy.WithReplicates": (1, "58a46773"),
    "scikit_learn.WithReplicates": (1, "058237f5"),
    "ours.ExactFields": (2, "4ed67801"),
    "scikit_learn.OnFields": (1, "614171ef"),
    "smt.MultiFidelity": (2, "8eeedeb9"),
}


def test_what_has_changed_has_a_new_version():
    """Where results change, raise the version in the registry; then write both down here."""
    assert {peer.name: (peer.version, peer.digest) for peer in PEERS} == VERSIONS


def test_a_digest_is_of_the_code_that_a_class_uses_and_of_the_pins(tmp_path, monkeypatch):
    """Other classes, unused constants, docstrings and comments may change."""
    monkeypatch.setattr(registry, "LIBRARIES", tmp_path)
    code = "WIDTH = 1\nOTHER = 2\n\n\nclass Own:\n    width = WIDTH\n"
    names = []
    for text, pins in [
        (code, "numpy==1"),
        (code.replace("OTHER = 2", "OTHER = 3") + "\n\nclass Beside:\n    pass\n", "numpy==1"),
        (code.replace("Own:", 'Own:\n    """Described."""\n') + "    # explained\n", "numpy==1"),
        (code.replace("WIDTH = 1", "WIDTH = 4"), "numpy==1"),
        (code, "numpy==2"),
    ]:
        (tmp_path / "made.py").write_text(text)
        (tmp_path / "made.txt").write_text(pins)
        names.append(registry.Peer("made", "Own", ONE).digest)
    assert len(set(names[:3])) == 1
    assert len(set(names)) == 3


def test_every_package_of_every_library_is_pinned():
    assert {path.stem for path in LIBRARIES.glob("*.py")} == {peer.library for peer in PEERS}
    pins = {path.stem: path.read_text().split() for path in LIBRARIES.glob("*.txt")}
    assert set(pins) == {peer.library for peer in PEERS if not peer.ours}
    assert all(pin.count("==") == 1 for lines in pins.values() for pin in lines)
    torches = {pin for lines in pins.values() for pin in lines if pin.startswith("torch==")}
    assert torches <= set((ROOT / "constraints.txt").read_text().split())


def test_noise_by_regression_of_log_variances_grows_as_it_should():
    """Equal inputs beside the training RVEs; the noise grows with the first input."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (40, 2))
    points = rng.uniform(-1, 1, (12, 2)).repeat(15, axis=0)

    def observed(X):
        std = np.exp(-2.0 + X[:, 0])
        return (np.sin(2 * X[:, 1]) + std * rng.normal(size=len(X)))[:, None]

    data = {"X": X, "y": observed(X), "X_repeated": points, "y_repeated": observed(points)}
    model = worker.load(LIBRARIES / "scikit_learn.py", "WithReplicates")()
    model.fit(worker.Data(**data, X_test=X[:0], groups=np.arange(12).repeat(15)))
    X = np.array([[-0.8, 0.0], [0.8, 0.0]])
    log_std = 0.5 * np.log(model.variances(X)[:, 0])
    np.testing.assert_allclose(log_std, -2.0 + X[:, 0], atol=0.25)
    mean, std = model.predict(X)
    np.testing.assert_allclose(mean[:, 0], 0.0, atol=0.3)
    assert np.all(std[:, 0] > np.sqrt(model.variances(X)[:, 0]))
