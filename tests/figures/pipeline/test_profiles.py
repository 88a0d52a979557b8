"""Profiles have the published sizes, and are refused before anything runs."""

import copy

import pytest
import yaml

from figures.pipeline.profiles import PROFILE_DIR, ProfileError, load_profile
from figures.pipeline.settings import PAPER_COUNTS
from tests.limits import limited


def test_both_profiles_train_the_published_networks_and_the_quick_one_pretrains_them_less():
    quick, full = (load_profile(name).surrogate for name in ("quick", "full"))
    for name in ("n_members", "prior_points", "epochs"):
        assert getattr(quick, name) == getattr(full, name)
    assert quick.pretrain_epochs < full.pretrain_epochs
    assert (full.n_pretrained, full.n_members) == (50, 30)


def test_the_full_profile_has_the_published_sizes():
    full = load_profile("full")
    assert full.datasets == {
        "train_beta": 50,
        "test_uniform": 50,
        "train_uniform": 100,
        "replicates": 10,
        "noise": 20,
    }
    assert (full.prior_study.members, full.prior_study.epochs_scale) == (100, 1)
    example = full.example_1d
    sizes = (example.n_pretrained, example.n_members, example.prior_points)
    assert sizes == (100, 40, 500)
    assert example.pretrain_epochs_scale == 1
    assert full.other_methods.repeats >= 8
    assert set(full.at_once) == set(full.notebooks) - set(full.apart)


@pytest.mark.parametrize("section", ["prior_study", "example_1d", "surrogate"])
def test_a_profile_at_the_size_of_the_paper_is_told_from_a_smaller_one(section):
    assert getattr(load_profile("full"), section).at_paper_size
    assert not getattr(load_profile("quick"), section).at_paper_size


def test_only_tables_of_the_published_size_make_a_run_of_that_size():
    """Settings say how many cells are wanted; a table may have fewer."""
    settings = load_profile("full").surrogate
    assert settings.ran_at_paper_size(PAPER_COUNTS, 50)
    assert settings.ran_at_paper_size({"outd": 50}, 50)
    assert not settings.ran_at_paper_size(PAPER_COUNTS, 20)
    assert not settings.ran_at_paper_size(PAPER_COUNTS | {"ind100": 60}, 50)
    assert not load_profile("quick").surrogate.ran_at_paper_size({"outd": 50}, 50)


@pytest.mark.parametrize("notebook", ["02_example_1d", "04_materials_surrogate"])
def test_another_choice_of_training_runs_the_notebooks_that_follow_it_again(notebook):
    published = load_profile("full")
    proper = published.model_copy(update={"training": "proper"})
    assert published.training == "published"
    assert proper.settings_of(notebook) != published.settings_of(notebook)
    assert proper.settings_of("01_prior_study") == published.settings_of("01_prior_study")


OTHER_METHODS = {"cases": {"outd": {"design": "train_beta", "count": 10}}}
CHANGES = [
    ({"seed": None}, "seed: field required"),
    ({"name": "other"}, "name: extra inputs are not permitted"),
    ({"surrogate.width": 5}, "surrogate.width: extra inputs are not permitted"),
    ({"surrogate.epochs": 1.5}, "surrogate.epochs = 1.5 is not allowed"),
    ({"surrogate.n_members": 9}, "at most the 4 pre-trained networks"),
    ({"surrogate.cases.outd.count": 99}, "datasets holds 10 of 'train_beta'"),
    ({"surrogate.cases": {"ind25": OTHER_METHODS["cases"]["outd"]}}, "'outd' is needed"),
    ({"datasets": {"train_beta": 10}}, "datasets.test_uniform = 0 is not allowed: at least 2"),
    ({"datasets.train_beta": 3}, "datasets.train_beta = 3 is not allowed: at least 4 is"),
    ({"notebooks": ["07_more"]}, "notebooks.0 = '07_more' is not allowed"),
    ({"notebooks": ["05_other_methods"]}, "other_methods: field required for 05_other_methods"),
    (
        {"other_methods": OTHER_METHODS | {"n_members": 5, "spans": [3]}},
        "at most the 3 pre-trained networks",
    ),
    (
        {"other_methods": OTHER_METHODS | {"spans": [3, "x"]}},
        "other_methods.spans.1 = 'x' is not allowed",
    ),
    (
        {"prior_knowledge": {"counts": [10, 20]}},
        "counts = [10, 20] is not allowed: increasing numbers",
    ),
    ({"strain_paths": {"counts": [5, 50]}}, "numbers with few = 5 and many = 100, more, are"),
    ({"materials_data.cell": {"vf": 5.0}}, "vf = 5.0 is out of range: allowed is 0 or [0.005"),
]


@pytest.mark.parametrize(("change", "message"), CHANGES, ids=lambda value: str(value)[:40])
def test_a_bad_field_is_named(profile_content, tmp_path, change, message):
    content = copy.deepcopy(profile_content)
    for place, value in change.items():
        *parents, name = place.split(".")
        target = content
        for parent in parents:
            target = target[parent]
        target[name] = value
    path = tmp_path / "bad.yaml"
    path.write_text(yaml.safe_dump(content))
    with pytest.raises(ProfileError) as refusal:
        load_profile(path)
    assert message in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_a_section_without_content_takes_the_defaults(profile_content, tmp_path):
    path = tmp_path / "bare.yaml"
    path.write_text(yaml.safe_dump({**profile_content, "other_methods": None, "prior_study": None}))
    assert load_profile(path).prior_study.at_paper_size
    assert load_profile(path).other_methods is None


@pytest.mark.parametrize("name", ["full", "quick", "full-authors", "quick-tables"])
def test_a_name_under_which_committed_results_lie_is_refused(profile_content, tmp_path, name):
    path = tmp_path / f"{name}.yaml"
    path.write_text(yaml.safe_dump(profile_content))
    with pytest.raises(ProfileError, match=f"results in figures/{name} would be overwritten"):
        load_profile(path)
    assert load_profile(PROFILE_DIR / "full.yaml") == load_profile("full")


def test_a_key_that_stands_twice_is_refused(tmp_path):
    """YAML would take the last one without a word."""
    path = tmp_path / "twice.yaml"
    path.write_text("seed: 1\nsurrogate: {repeats: 2, epochs: 3, repeats: 5}\n")
    with pytest.raises(ProfileError, match="not valid YAML: the key 'repeats' stands twice"):
        load_profile(path)


NESTED = b"a: &a [x,x,x,x,x,x,x,x,x]\n" + b"".join(
    f"{n}: &{n} [{','.join([f'*{p}'] * 9)}]\n".encode()
    for p, n in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"!!python/object/apply:os.system ['touch ran']", id="call"),
        pytest.param(NESTED + b"seed: *i\n", id="aliases of aliases"),
        pytest.param(b"seed: &s [*s]\ndatasets: *s", id="alias of itself"),
        pytest.param(b"? {a: b}\n: c\n", id="mapping as key"),
        pytest.param(b"seed: " + b"[" * 5000, id="deep"),
        pytest.param(b"seed: " + b"9" * 5000, id="digits"),
        pytest.param(b"seed: 2001-99-99", id="no date"),
        pytest.param(b"\xff\xfe\x00\x01", id="not text"),
    ],
)
def test_a_hostile_profile(tmp_path, monkeypatch, data):
    """It is refused in time, and nothing in it is run."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "profile.yaml"
    path.write_bytes(data)
    with limited(seconds=10, megabytes=500), pytest.raises(ProfileError) as refusal:
        load_profile(path)
    assert len(str(refusal.value)) < 5000
    assert not (tmp_path / "ran").exists()
