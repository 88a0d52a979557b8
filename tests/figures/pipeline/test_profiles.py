"""Profiles are refused with one sentence before anything runs."""

import copy

import pytest
import yaml

from figures.pipeline.profile_fields import ProfileError
from figures.pipeline.profiles import PROFILE_DIR, load_profile


def test_both_profiles_train_the_published_networks():
    quick, full = (load_profile(name).surrogate for name in ("quick", "full"))
    for name in ("n_pretrained", "n_members", "prior_points", "pretrain_epochs", "epochs"):
        assert getattr(quick, name) == getattr(full, name)
    assert (full.n_pretrained, full.n_members) == (50, 30)


def test_full_profile_has_the_published_sizes():
    assert load_profile("full").datasets == {
        "train_beta": 50, "test_uniform": 50, "train_uniform": 100, "replicates": 10, "noise": 20,
    }  # fmt: skip


def test_a_profile_at_the_size_of_the_paper_is_told_from_a_smaller_one():
    quick, full = load_profile("quick"), load_profile("full")
    assert full.prior_study.at_paper_size
    assert full.example_1d.at_paper_size
    assert full.surrogate.at_paper_size
    assert not quick.prior_study.at_paper_size
    assert not quick.example_1d.at_paper_size


def test_every_notebook_of_a_profile_has_settings_and_some_may_run_apart():
    full = load_profile("full")
    assert full.settings_of("03_materials_data") is full.materials_data
    assert set(full.at_once) == set(full.notebooks) - set(full.apart)


def test_unknown_profile_lists_those_that_exist():
    with pytest.raises(ProfileError, match="unknown profile 'fast': full, quick exist"):
        load_profile("fast")


BEYOND_CASES = {"outd": {"design": "train_beta", "count": 10}}
CHANGES = [
    ({"seed": -1}, "seed = -1 is not allowed: an integer of at least 0 is"),
    ({"colour": 1}, "unknown field 'colour'"),
    ({"datasets": {"train_beta": 0}}, "datasets.train_beta = 0 is not allowed"),
    ({"datasets": {"train_gamma": 3}}, "unknown design 'train_gamma'"),
    ({"datasets": {"train_beta": 10}}, "reads 'test_uniform', which datasets does not list"),
    ({"surrogate.epochs": 0}, "surrogate.epochs = 0 is not allowed: an integer of at least 1 is"),
    ({"surrogate.epochs": 1.5}, "surrogate.epochs = 1.5 is not allowed"),
    ({"surrogate.repeats": True}, "surrogate.repeats = True is not allowed"),
    (
        {"surrogate.n_members": 9},
        "surrogate.n_members = 9 is not allowed: at most n_pretrained = 4",
    ),
    ({"surrogate.width": 5}, "unknown field 'width'"),
    ({"materials_data.shuffles": 3}, "materials_data.shuffles = 3 is not allowed: an integer of"),
    ({"materials_data.cell": {"vg": 0.1}}, "unknown field 'vg'"),
    ({"apart": ["06_more"]}, "apart: '06_more' is not among the notebooks"),
    ({"surrogate.cases": {"outd": {"design": "train_beta", "count": 99}}}, "datasets holds 10"),
    (
        {"surrogate.cases": {"outd": {"design": "train_beta", "count": 1}}},
        "count = 1 is not allowed",
    ),
    ({"surrogate": 3}, "surrogate = 3 is not allowed: a mapping is"),
    ({"surrogate.cases": None}, "surrogate.cases = None is not allowed: a mapping is"),
    ({"surrogate.cases": {"outd": None}}, "surrogate.cases.outd = None is not allowed: a mapping"),
    (
        {"surrogate.cases": {"outd": {"count": 2}}},
        "surrogate.cases.outd: field 'design' is missing",
    ),
    (
        {"surrogate.cases": {"outd": {"design": [], "count": 2}}},
        "surrogate.cases.outd.design = [] is not allowed: one of test_uniform, train_uniform",
    ),
    ({"seed": None}, "field 'seed' is missing"),
    ({"name": "other"}, "unknown field 'name'"),
    ({"datasets": ["train_beta"]}, "datasets = ['train_beta'] is not allowed: a mapping is"),
    ({"datasets": {1: 2}}, "datasets: the key 1 is not allowed: a text is"),
    ({"notebooks": {"04": "train_beta"}}, "notebooks.04 = 'train_beta' is not allowed: a list of"),
    ({"apart": [["04"]]}, "apart = [[...]] is not allowed: a list of texts is"),
    ({"beyond": "all"}, "beyond = 'all' is not allowed: a mapping is"),
    (
        {"surrogate.cases": {"ind25": {"design": "train_beta", "count": 4}}},
        "surrogate.cases = 'ind25' is not allowed: 'outd' is needed among them",
    ),
    (
        {"notebooks": {"07_more": []}},
        "notebooks: unknown notebook '07_more': 01_prior_study, 02_example_1d",
    ),
    (
        {"datasets": {"train_beta": 10, "test_uniform": 6, "replicates": 1}},
        "datasets.replicates = 1 is not allowed: an integer of at least 2 is",
    ),
    (
        {"datasets": {"train_beta": 3, "test_uniform": 6}},
        "datasets.train_beta = 3 is not allowed: an integer of at least 4 is",
    ),
    (
        {"materials_data.cell": {"vf": 5.0}},
        "materials_data.cell.vf = 5.0 is out of range: allowed is 0 or [0.005, 0.5]",
    ),
    (
        {"materials_data.cell": {"E_f": 0.5}},
        "materials_data.cell.E_f = 0.5 is out of range: allowed is [1, 100000]",
    ),
    (
        {"materials_data.cell": {"c_m": 10**400}},
        "is not allowed: a number above 0 is",
    ),
    ({"beyond": {"cases": BEYOND_CASES, "spans": 4}}, "beyond.spans = 4 is not allowed: a list is"),
    ({"beyond": {"cases": BEYOND_CASES, "depth": 4}}, "beyond: unknown field 'depth'"),
    (
        {"beyond": {"cases": {"outd": {"design": "train_beta", "count": 11}}}},
        "beyond.cases.outd.count = 11 is not allowed: datasets holds 10 of 'train_beta'",
    ),
    (
        {"beyond": {"cases": {"outd": {"design": "beta", "count": 2}}}},
        "beyond.cases.outd.design = 'beta' is not allowed: one of test_uniform, train_uniform",
    ),
    ({"notebooks": {"05_beyond_the_paper": []}}, "beyond: field 'cases' is missing"),
    (
        {"notebooks": {"04_materials_surrogate": ["train_beta"]}},
        "notebooks.04_materials_surrogate = train_beta is not allowed: 'test_uniform' is needed",
    ),
    (
        {
            "notebooks": {"05_beyond_the_paper": ["test_uniform"]},
            "beyond": {"cases": BEYOND_CASES},
        },
        "notebooks.05_beyond_the_paper = test_uniform is not allowed: 'train_beta' is needed",
    ),
    (
        {"notebooks": {"03_materials_data": []}},
        "notebooks.03_materials_data = nothing is not allowed: 'train_beta' is needed",
    ),
    (
        {"materials_data.cell": {"vf": None}},
        "materials_data.cell.vf = None is not allowed: a number",
    ),
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


@pytest.mark.parametrize("name", ["seed", "datasets", "surrogate"])
def test_a_missing_field_is_named(profile_content, tmp_path, name):
    path = tmp_path / "bad.yaml"
    path.write_text(yaml.safe_dump({k: v for k, v in profile_content.items() if k != name}))
    with pytest.raises(ProfileError, match=name):
        load_profile(path)


def test_a_section_without_content_takes_the_defaults(profile_content, tmp_path):
    path = tmp_path / "bare.yaml"
    path.write_text(yaml.safe_dump({**profile_content, "beyond": None, "prior_study": None}))
    assert load_profile(path).prior_study.at_paper_size
    assert load_profile(path).beyond == {}


@pytest.mark.parametrize("text", ["seed: " + "[" * 5000, "seed: 2001-99-99", "seed: " + "9" * 5000])
def test_what_the_parser_fails_on_is_not_valid_yaml(tmp_path, text):
    path = tmp_path / "bad.yaml"
    path.write_text(text)
    with pytest.raises(ProfileError, match="is not valid YAML: ") as refusal:
        load_profile(path)
    assert len(str(refusal.value)) < 600


@pytest.mark.parametrize("name", ["full", "quick", "gallery", "full-authors", "quick-tables"])
def test_a_name_under_which_committed_results_lie_is_refused(profile_content, tmp_path, name):
    path = tmp_path / f"{name}.yaml"
    path.write_text(yaml.safe_dump(profile_content))
    with pytest.raises(ProfileError, match=f"results in figures/{name} would be overwritten"):
        load_profile(path)


def test_the_shipped_profiles_may_be_given_as_files():
    assert load_profile(PROFILE_DIR / "full.yaml") == load_profile("full")
