"""Sizes in the profiles: the paper's by default, and one sentence for what is not allowed."""

import pytest
import yaml

from figures.claims import load_published
from figures.pipeline.profile_fields import ProfileError
from figures.pipeline.profiles import Example1D, PriorStudy, load_profile

BAD = [
    (PriorStudy, {"members": 2}, "prior_study.members = 2 is not allowed: an integer of at least"),
    (PriorStudy, {"functions": 1.5}, "prior_study.functions = 1.5 is not allowed"),
    (PriorStudy, {"epochs_scale": 0}, "prior_study.epochs_scale = 0 is not allowed"),
    (PriorStudy, {"epochs_scale": "1"}, "prior_study.epochs_scale = '1' is not allowed"),
    (Example1D, {"repeats": 0}, "example_1d.repeats = 0 is not allowed"),
    (Example1D, {"prior_points": True}, "example_1d.prior_points = True is not allowed"),
    (Example1D, {"pretrain_epochs_scale": -1.0}, "example_1d.pretrain_epochs_scale = -1.0 is not"),
    (Example1D, {"n_pretrained": 4, "n_members": 9}, "at most n_pretrained = 4 is"),
    (Example1D, {"bias_correction": 1}, "example_1d.bias_correction = 1 is not allowed"),
]


@pytest.mark.parametrize(("section", "values", "message"), BAD, ids=lambda v: str(v)[:30])
def test_a_bad_size_is_named(section, values, message):
    with pytest.raises(ProfileError) as refusal:
        section(**values)
    assert message in str(refusal.value)


def test_the_full_profile_has_the_published_sizes():
    full = load_profile("full")
    assert (full.prior_study.members, full.prior_study.epochs_scale) == (100, 1)
    example = full.example_1d
    sizes = (example.n_pretrained, example.n_members, example.prior_points)
    assert sizes == (100, 40, 500)
    assert example.pretrain_epochs_scale == 1


def test_each_notebook_gets_its_own_settings():
    full = load_profile("full")
    assert full.settings_of("01_prior_study") is full.prior_study
    assert full.settings_of("02_example_1d") is full.example_1d
    assert full.settings_of("04_materials_surrogate") is full.surrogate


def test_an_unknown_field_of_a_section_is_named(tmp_path):
    content = {"seed": 1, "datasets": {}, "surrogate": {"cases": {}}, "prior_study": {"epochs": 3}}
    path = tmp_path / "bad.yaml"
    path.write_text(yaml.safe_dump(content))
    with pytest.raises(ProfileError, match="unknown field 'epochs'"):
        load_profile(path)


def test_published_variances_have_a_tolerance_each():
    table = load_published()["table_1"]
    for row in table["rows"].values():
        assert len(row["variance"]) == len(row["tolerance"]) == len(table["columns"])
