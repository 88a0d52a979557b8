import numpy as np
import pytest
import torch
from torch import nn

from studies.path_surrogates.estimators import mean_fields
from studies.path_surrogates.material_points import PointEnsemble
from studies.path_surrogates.recurrent import RecurrentEnsemble, Units
from studies.path_surrogates.training import parted, train

NAMES = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")  # of a layer of nn.GRU


@pytest.fixture
def training(sets):
    paths = sets.random_paths
    return paths.inputs, paths.strain, paths.mean_stress


def test_members_are_those_of_pytorch_side_by_side():
    torch.manual_seed(0)
    units = Units(members=2, n_in=3, n_out=1, hidden=5, layers=2)
    x = torch.randn(2, 4, 6, 3)
    for k in range(2):
        one = nn.GRU(3, 5, num_layers=2, batch_first=True)
        for layer in range(2):
            matrices = units.of_input[layer][k].T, units.of_state[layer][k].T
            tensors = (*matrices, *units.biases[layer][k, :, 0])
            for name, tensor in zip(NAMES, tensors, strict=True):
                getattr(one, f"{name}_l{layer}").data = tensor.detach().clone()
        states, _ = one(x[k])
        expected = states @ units.head[k] + units.head_bias[k]
        torch.testing.assert_close(units(x)[k], expected)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "most"),
    [
        (RecurrentEnsemble(0, hidden=16, updates=20.0), 0.8),
        (RecurrentEnsemble(0, mean_fields, hidden=16, updates=20.0), 0.02),
        (PointEnsemble(0, updates=20.0), 0.3),
    ],
    ids=["recurrent", "recurrent about mean fields", "points"],
)
def test_rivals_learn(training, model, most):
    X, strain, stress = training
    mean, std = model.fit(X, strain, stress).predict(X, strain)
    assert np.square(mean - stress).mean() < most * stress.var()
    assert (np.abs(mean - stress) < 1.96 * std).mean() > 0.8


@pytest.mark.slow
def test_what_is_kept_is_the_best_on_the_paths_for_validation():
    """Paths for training draw the weights to 1; those for validation to a value before that."""
    rng = np.random.default_rng(0)
    learnt, held = parted(10, 2, rng)
    targets = torch.ones(2, 10)
    for k, value in enumerate((0.2, 0.6)):
        targets[k, held[k]] = value
    weights = torch.zeros(2, 1, requires_grad=True)

    def errors(rows):
        distances = torch.square(weights - torch.take_along_dim(targets, torch.as_tensor(rows), 1))
        return distances.mean(dim=1, keepdim=True).expand(2, 3)

    options = {"updates": 40.0, "batch": 4, "rate": 0.05, "every": 1}
    distances = train([weights], errors, (learnt, held), rng, **options)
    np.testing.assert_allclose(weights.detach().numpy()[:, 0], [0.2, 0.6], atol=0.03)
    assert distances.residuals.max() < 1e-3 < distances.history[-1]
