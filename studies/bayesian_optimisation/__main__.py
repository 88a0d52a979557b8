"""Regret of Bayesian optimisation with GPRegressor and SingleTaskGP, with BoTorch's functions.

Each run starts with 2 (n_in + 1) points of a Sobol sequence. Each of 20 steps then evaluates the
function at the maximum of qLogExpectedImprovement. Both models get the same initial points and
values, and are told that the values have no noise.

    python -m studies.bayesian_optimisation [--seeds 10] [--steps 20]
"""

import argparse
import time
import warnings

import numpy as np
import torch
from botorch.acquisition.logei import qLogExpectedImprovement
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.models.model import Model
from botorch.optim import optimize_acqf
from botorch.sampling.normal import SobolQMCNormalSampler
from botorch.test_functions import Branin, Hartmann
from gpytorch.mlls import ExactMarginalLogLikelihood
from torch import Tensor

import bnn

PROBLEMS = {"Branin": Branin, "Hartmann-6": Hartmann}
NO_NOISE = 1e-6  # noise variance over the variance of values; GPyTorch's lower limit


def of_bnn(X: Tensor, y: Tensor) -> Model:
    """Return the BoTorch model of a GPRegressor without noise."""
    model = bnn.GPRegressor(noise=0.0).fit(X.numpy(), y.numpy())
    return bnn.interop.botorch_model(model)


def of_botorch(X: Tensor, y: Tensor) -> Model:
    """Return a SingleTaskGP with the smallest noise variance that GPyTorch allows."""
    model = SingleTaskGP(X, y, train_Yvar=torch.full_like(y, NO_NOISE) * y.var())
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    return model


MODELS = {"GPRegressor": of_bnn, "SingleTaskGP": of_botorch}


def regret(problem: str, model: str, seed: int, steps: int) -> float:
    """Return the difference between the maximum of the function and the best value found."""
    torch.manual_seed(seed)
    function = PROBLEMS[problem](negate=True)
    n_in = function.dim
    low, high = function.bounds.double()
    unit = torch.stack([torch.zeros(n_in), torch.ones(n_in)]).double()
    sobol = torch.quasirandom.SobolEngine(n_in, scramble=True, seed=seed)
    X = sobol.draw(2 * (n_in + 1)).double()
    y = function(low + (high - low) * X)[:, None]
    for step in range(steps):
        sampler = SobolQMCNormalSampler(torch.Size([128]), seed=step)
        improvement = qLogExpectedImprovement(MODELS[model](X, y), best_f=y.max(), sampler=sampler)
        best, _ = optimize_acqf(improvement, unit, q=1, num_restarts=4, raw_samples=128)
        X = torch.cat([X, best])
        y = torch.cat([y, function(low + (high - low) * best)[:, None]])
    return float(function.optimal_value - y.max())


def main() -> None:
    """Print the regret of each seed, and its median and mean over the seeds."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--steps", type=int, default=20)
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    for problem in PROBLEMS:
        regrets: dict[str, list[float]] = {model: [] for model in MODELS}
        seconds = dict.fromkeys(MODELS, 0.0)
        for seed in range(options.seeds):
            for model, values in regrets.items():
                start = time.perf_counter()
                values.append(regret(problem, model, seed, options.steps))
                seconds[model] += time.perf_counter() - start
            print(problem, seed, {m: round(v[-1], 4) for m, v in regrets.items()}, flush=True)
        for model, values in regrets.items():
            spread = f"median {np.median(values):.4f}, mean {np.mean(values):.4f}"
            step = seconds[model] / options.seeds / options.steps
            print(f"{problem}, {model}: regret {spread}; {step:.1f} s a step")


if __name__ == "__main__":
    main()
