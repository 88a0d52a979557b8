"""Profiles are refused with one sentence before anything runs."""

import copy

import pytest
import yaml

from figures.pipeline.profiles import PROFILE_DIR, ProfileError, load_profile
from figures.pipeline.settings import PAPER_COUNTS


def test_both_profiles_train_the_published_networks_and_the_quick_one_pretrains_them_less():
    quick, full = (load_profile(name).surrogate for name in ("quick", "full"))
    for name in ("n_members", "prior_points", "epochs"):
        assert getattr(quick, name) == getattr(full, name)
    assert quick.pretrain_epochs < full.pretrain_epochs
    assert (full.n_pretrained, full.n_members) == (50, 30)


def test_full_profile_has_the_published_sizes():
    assert load_profile("full").datasets == {
        "train_beta": 50,
        "test_uniform": 50,
        "train_uniform": 100,
        "replicates": 10,
        "noise": 20,
    }


def test_a_profile_at_the_size_of_the_paper_is_told_from_a_smaller_one():
    quick = load_profile("quick")
    full = load_profile("full")
    assert full.prior_study.at_paper_size
    assert full.example_1d.at_paper_size
    assert full.surrogate.at_paper_size
    assert not quick.prior_study.at_paper_size
    assert not quick.example_1d.at_paper_size


def test_the_study_and_the_example_have_the_published_sizes():
    full = load_profile("full")
    assert (full.prior_study.members, full.prior_study.epochs_scale) == (100, 1)
    example = full.example_1d
    sizes = (example.n_pretrained, example.n_members, example.prior_points)
    assert sizes == (100, 40, 500)
    assert example.pretrain_epochs_scale == 1


def test_every_notebook_of_a_profile_has_settings_and_some_may_run_apart():
    full = load_profile("full")
    assert full.settings_of("01_prior_study") == {"prior_study": full.prior_study}
    assert full.settings_of("03_materials_data") == {"materials_data": full.materials_data}
    assert set(full.at_once) == set(full.notebooks) - set(full.apart)


@pytest.mark.parametrize("notebook", ["02_example_1d", "04_materials_surrogate"])
def test_another_choice_of_training_runs_the_notebooks_that_follow_it_again(notebook):
    published = load_profile("full")
    proper = published.model_copy(update={"training": "proper"})
    assert published.training == "published"
    assert proper.settings_of(notebook) != published.settings_of(notebook)
    assert proper.settings_of("01_prior_study") == published.settings_of("01_prior_study")


def test_unknown_profile_lists_those_that_exist():
    with pytest.raises(ProfileError, match="unknown profile 'fast': full, quick exist"):
        load_profile("fast")


BEYOND_CASES = {"outd": {"design": "train_beta", "count": 10}}
CHANGES = [
    ({"seed": -1}, "seed = -1 is not allowed: input should be greater than or equal to 0"),
    ({"colour": 1}, "colour: extra inputs are not permitted"),
    ({"datasets": {"train_beta": 0}}, "datasets.train_beta = 0 is not allowed"),
    (
        {"datasets": {"train_gamma": 3}},
        "datasets.train_gamma.[key] = 'train_gamma' is not allowed: input should be 'test_unif",
    ),
    ({"datasets": {"train_beta": 10}}, "datasets.test_uniform = 0 is not allowed: at least 2"),
    (
        {"surrogate.epochs": 0},
        "surrogate.epochs = 0 is not allowed: input should be greater than 0",
    ),
    ({"surrogate.epochs": 1.5}, "surrogate.epochs = 1.5 is not allowed"),
    ({"surrogate.repeats": True}, "surrogate.repeats = True is not allowed"),
    (
        {"surrogate.n_members": 9},
        "surrogate: n_members = 9 is not allowed: at most the 4 pre-trained networks",
    ),
    ({"surrogate.width": 5}, "surrogate.width: extra inputs are not permitted"),
    (
        {"materials_data.shuffles": 3},
        "materials_data.shuffles = 3 is not allowed: input should be greater than or equal to 20",
    ),
    ({"materials_data.cell": {"vg": 0.1}}, "materials_data.cell.vg: extra inputs are not"),
    ({"apart": ["06_more"]}, "apart.0 = '06_more' is not allowed: input should be '00_method'"),
    ({"surrogate.cases": {"outd": {"design": "train_beta", "count": 99}}}, "datasets holds 10"),
    (
        {"surrogate.cases": {"outd": {"design": "train_beta", "count": 1}}},
        "count = 1 is not allowed",
    ),
    ({"surrogate": 3}, "surrogate = 3 is not allowed: input should be a valid dictionary"),
    ({"surrogate.cases": None}, "surrogate.cases = None is not allowed: input should be a valid d"),
    (
        {"surrogate.cases": {"outd": None}},
        "surrogate.cases.outd = None is not allowed: input should be a valid dictionary",
    ),
    (
        {"surrogate.cases": {"outd": {"count": 2}}},
        "surrogate.cases.outd.design: field required",
    ),
    (
        {"surrogate.cases": {"outd": {"design": [], "count": 2}}},
        "surrogate.cases.outd.design = [] is not allowed: input should be 'test_uniform', 'train_u",
    ),
    ({"seed": None}, "seed: field required"),
    ({"name": "other"}, "name: extra inputs are not permitted, the file has the name"),
    (
        {"datasets": ["train_beta"]},
        "datasets = ['train_beta'] is not allowed: input should be a valid dictionary",
    ),
    ({"datasets": {1: 2}}, "datasets.1.[key] = 1 is not allowed: input should be 'test_uniform'"),
    (
        {"notebooks": "04_materials_surrogate"},
        "notebooks = '04_materials_surrogate' is not allowed: input should be a valid list",
    ),
    ({"apart": [["04"]]}, "apart.0 = ['04'] is not allowed: input should be '00_method'"),
    ({"beyond": "all"}, "beyond = 'all' is not allowed: input should be a valid dictionary"),
    (
        {"surrogate.cases": {"ind25": {"design": "train_beta", "count": 4}}},
        "surrogate: cases = ['ind25'] is not allowed: 'outd' is needed",
    ),
    (
        {"notebooks": ["07_more"]},
        "notebooks.0 = '07_more' is not allowed: input should be '00_method', '01_prior_study'",
    ),
    (
        {"datasets": {"train_beta": 10, "test_uniform": 6, "replicates": 1}},
        "datasets.replicates = 1 is not allowed: input should be greater than or equal to 2",
    ),
    (
        {"datasets": {"train_beta": 3, "test_uniform": 6}},
        "datasets.train_beta = 3 is not allowed: at least 4 is",
    ),
    (
        {"materials_data.cell": {"vf": 5.0}},
        "materials_data.cell: vf = 5.0 is out of range: allowed is 0 or [0.005, 0.5]",
    ),
    (
        {"materials_data.cell": {"E_f": 0.5}},
        "materials_data.cell: E_f_GPa = 0.5 is out of range: allowed is [1, 100000]",
    ),
    (
        {"materials_data.cell": {"c_m": 0.005}},
        "materials_data.cell: c_m = 0.005 is out of range: allowed is [0.01, 1] under 'power' hard",
    ),
    (
        {"materials_data.cell": {"c_m": 10**400}},
        "is not allowed: input should be a valid number",
    ),
    (
        {"beyond": {"cases": BEYOND_CASES, "spans": 4}},
        "beyond.spans = 4 is not allowed: input should be a valid tuple",
    ),
    (
        {"beyond": {"cases": BEYOND_CASES, "depth": 4}},
        "beyond.depth: extra inputs are not",
    ),
    (
        {"beyond": {"cases": {"outd": {"design": "train_beta", "count": 11}}}},
        "beyond.cases.outd.count = 11 is not allowed: datasets holds 10 of 'train_beta'",
    ),
    (
        {"beyond": {"cases": {"outd": {"design": "beta", "count": 2}}}},
        "beyond.cases.outd.design = 'beta' is not allowed: input should be 'test_uniform', 'train",
    ),
    ({"notebooks": ["05_beyond_the_paper"]}, "beyond: field required for 05_beyond_the_paper"),
    (
        {"materials_data.cell": {"vf": None}},
        "materials_data.cell.vf = None is not allowed: input should be a valid number",
    ),
    ({"prior_study": {"members": 2}}, "prior_study.members = 2 is not allowed: input should be gr"),
    (
        {"prior_study": {"functions": 1.5}},
        "prior_study.functions = 1.5 is not allowed: input should be a valid integer",
    ),
    (
        {"prior_study": {"epochs_scale": 0.0}},
        "prior_study.epochs_scale = 0.0 is not allowed: input should be greater than 0",
    ),
    ({"prior_study": {"epochs_scale": "1"}}, "prior_study.epochs_scale = '1' is not allowed"),
    ({"prior_study": {"epochs": 3}}, "prior_study.epochs: extra inputs are not permitted"),
    ({"example_1d": {"repeats": 0}}, "example_1d.repeats = 0 is not allowed"),
    ({"example_1d": {"prior_points": True}}, "example_1d.prior_points = True is not allowed"),
    (
        {"example_1d": {"pretrain_epochs_scale": -1.0}},
        "example_1d.pretrain_epochs_scale = -1.0 is not allowed",
    ),
    (
        {"example_1d": {"n_pretrained": 4, "n_members": 9}},
        "example_1d: n_members = 9 is not allowed: at most the 4 pre-trained networks",
    ),
    (
        {"training": "printed"},
        "training = 'printed' is not allowed: input should be 'published' or 'proper'",
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
    assert load_profile(path).beyond is None


@pytest.mark.parametrize("text", ["seed: " + "[" * 5000, "seed: 2001-99-99", "seed: " + "9" * 5000])
def test_what_the_parser_fails_on_is_not_valid_yaml(tmp_path, text):
    path = tmp_path / "bad.yaml"
    path.write_text(text)
    with pytest.raises(ProfileError, match="is not valid YAML: ") as refusal:
        load_profile(path)
    assert len(str(refusal.value)) < 600


@pytest.mark.parametrize("name", ["full", "quick", "full-authors", "quick-tables"])
def test_a_name_under_which_committed_results_lie_is_refused(profile_content, tmp_path, name):
    path = tmp_path / f"{name}.yaml"
    path.write_text(yaml.safe_dump(profile_content))
    with pytest.raises(ProfileError, match=f"results in figures/{name} would be overwritten"):
        load_profile(path)


def test_the_shipped_profiles_may_be_given_as_files():
    assert load_profile(PROFILE_DIR / "full.yaml") == load_profile("full")


def test_only_tables_of_the_published_size_make_a_run_of_that_size():
    """Settings say how many cells are wanted; a table may have fewer."""
    settings = load_profile("full").surrogate
    assert settings.ran_at_paper_size(PAPER_COUNTS, 50)
    assert settings.ran_at_paper_size({"outd": 50}, 50)
    assert not settings.ran_at_paper_size(PAPER_COUNTS, 20)
    assert not settings.ran_at_paper_size(PAPER_COUNTS | {"ind100": 60}, 50)
    assert not load_profile("quick").surrogate.ran_at_paper_size({"outd": 50}, 50)


def test_a_key_that_stands_twice_is_refused(tmp_path):
    """YAML would take the last one without a word."""
    path = tmp_path / "twice.yaml"
    path.write_text("seed: 1\nsurrogate: {repeats: 2, epochs: 3, repeats: 5}\n")
    with pytest.raises(ProfileError, match="not valid YAML: the key 'repeats' stands twice"):
        load_profile(path)
