"""Estimators of small problems, by short names for the entries of their groups of settings."""

NAMES = {
    "hidden": "network__hidden",
    "activation": "network__activation",
    "init": "network__init",
    "input_bounds": "scaling__inputs",
    "output_bounds": "scaling__outputs",
    "n_pretrained": "pretraining__n_networks",
    "prior_points": "pretraining__n_points",
    "prior_range": "pretraining__range_factor",
    "perturbation": "pretraining__perturbation",
    "pretrain_epochs": "pretraining__training__epochs",
    "convergence": "pretraining__training__convergence",
    "epochs": "training__epochs",
    **{
        name: f"anchoring__{name}"
        for name in (
            "regulariser", "anchors", "start", "optimiser", "points", "nugget", "tolerance",
            "iterations", "realisations", "centred",
        )
    },
}  # fmt: skip
# Entries of every training, to data and to the prior.
OF_TRAINING = ("batch_size", "learning_rate", "bias_correction", "members_at_once", "progress")


def nested(model, settings):
    """Return settings by the names that `set_params` of an estimator knows."""
    known = model.get_params()
    found = {}
    for name, value in settings.items():
        if name in known:
            found[name] = value
        elif name in OF_TRAINING:
            places = ("training", "pretraining__training")
            keys = [f"{place}__{name}" for place in places]
            if name == "progress" and "anchoring__progress" in known:
                keys.append("anchoring__progress")
            found |= {key: value for key in keys if key in known}
        elif name == "resampling":
            found["anchoring__resampling"] = value
        else:
            found[NAMES[name]] = value
    return found


def has(model, name):
    """Return whether an estimator has a setting."""
    known = model.get_params()
    return name in known or NAMES.get(name) in known


def built(kind, *prior, **settings):
    """Return an estimator; its noise is 0.1 where none is given."""
    return changed(kind(*prior), **{"noise": 0.1, **settings})


def changed(model, **settings):
    """Change settings of an estimator."""
    return model.set_params(**nested(model, settings))
