"""Speed of bnn: python -m bench.training_speed prints a table of training times.

By default it runs a fiftieth of the epochs and extrapolates; --full runs all epochs. With --gpu it
prints the times of the same problems on a GPU instead.
"""

import argparse

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="run all epochs, not a share of them")
    parser.add_argument("--gpu", action="store_true", help="train on a GPU instead")
    options = parser.parse_args()

# Imported after the options are parsed, so that --help is fast.
import os
import time
from dataclasses import dataclass

import numpy as np
import torch
from torch.utils.benchmark import Timer

import bnn
from bnn.priors.samplers import truncated_normal_hypercube
from bnn.training.loop import train
from bnn.training.matmul import TORCH, products_on
from figures.composite.problem import FEATURES, INPUT_NAMES, KERNEL, OUTPUT_NAMES, noise_std
from prior_study import STUDY_PRIORS
from prior_study.reconstruction import ARCHITECTURE


@dataclass(frozen=True)
class Workload:
    """A pre-training problem of the paper."""

    architecture: bnn.MLP
    prior: bnn.GaussianProcessPrior
    n_members: int  # K
    n_points: int  # M
    epochs: int

    def data(self, n_members: int) -> tuple:
        """Return initial weights, inputs, targets and seeds of n_members networks."""
        X = truncated_normal_hypercube(self.n_points, self.architecture.widths[0], 0)
        y = self.prior.sample(X, n_members, 0)
        start = self.architecture.initial_weights(n_members, 0)
        return start, X, y, np.arange(n_members, dtype=np.uint32)


FLEXIBLE = STUDY_PRIORS["C"]
STUDY = Workload(
    ARCHITECTURE, FLEXIBLE.process, n_members=100, n_points=400, epochs=FLEXIBLE.epochs
)
MEAN = bnn.LinearMean([0.656, -0.191, 0.933, -0.876, 1.195])  # least squares on published RVEs
MATERIALS = Workload(
    bnn.MLP((len(INPUT_NAMES), 20, 20, 20, 20, len(OUTPUT_NAMES))),
    bnn.GaussianProcessPrior(MEAN, KERNEL, len(OUTPUT_NAMES), FEATURES),
    n_members=50,
    n_points=500,
    epochs=1000,
)


def batched_seconds(work: Workload, n_members: int, epochs: int, device: str = "cpu") -> float:
    """Return the seconds that our training loop takes for `epochs` epochs of n_members networks."""
    start, X, y, seeds = work.data(n_members)
    settings = bnn.TrainingSettings(epochs=epochs)
    begin = time.perf_counter()
    train(work.architecture, start, X, y, settings, seeds=seeds, device=device)
    return time.perf_counter() - begin


def loop_seconds(work: Workload, epochs: int) -> float:
    """Return the seconds that an ordinary PyTorch loop takes for `epochs` epochs of one network.

    It uses one thread, because a second thread does not speed up matrix products of this size.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    _, X, y, _ = work.data(1)
    layers: list[torch.nn.Module] = []
    for layer in work.architecture.layers:
        layers += [torch.nn.Linear(layer.n_in, layer.n_out), torch.nn.LeakyReLU(0.01)]
    network = torch.nn.Sequential(*layers[:-1])
    tensors = (torch.as_tensor(values, dtype=torch.float32) for values in (X, y[0]))
    data = torch.utils.data.TensorDataset(*tensors)
    loader = torch.utils.data.DataLoader(data, batch_size=32, shuffle=True)
    optimiser = torch.optim.Adam(network.parameters(), lr=1e-3, eps=1e-7)
    begin = time.perf_counter()
    for _ in range(epochs):
        for inputs, targets in loader:
            optimiser.zero_grad()
            torch.nn.functional.mse_loss(network(inputs), targets).backward()
            optimiser.step()
    seconds = time.perf_counter() - begin
    torch.set_num_threads(threads)
    return seconds


def compare(work: Workload, share: float, repeats: int = 3) -> dict[str, float]:
    """Return the best seconds of a workload, and of a loop over its members.

    Only a share of the epochs is run, and the times are extrapolated to all epochs. On a busy
    machine, divide the processor seconds by the number of threads to estimate the time on an idle
    one.
    """
    epochs = max(int(share * work.epochs), 2)
    few = max(epochs // 50, 2)
    batched_seconds(work, work.n_members, 2)
    loop_seconds(work, 1)
    rounds = []
    for _ in range(repeats):
        begin = time.process_time()
        row = {"seconds": batched_seconds(work, work.n_members, epochs)}
        row["processor"] = time.process_time() - begin
        row["loop"] = loop_seconds(work, few) / few * epochs * work.n_members
        rounds.append(row)
    best = {key: min(row[key] for row in rounds) * work.epochs / epochs for key in rounds[0]}
    return best | {"ratio": best["loop"] / best["seconds"]}


def gpu_seconds(work: Workload, share: float) -> dict[str, float]:
    """Return the best seconds of a workload on a GPU, for its K members and for 10 K members."""
    epochs = max(int(share * work.epochs), 2)
    seconds = {}
    for n_members in (work.n_members, 10 * work.n_members):
        batched_seconds(work, n_members, 2, "cuda")
        best = min(batched_seconds(work, n_members, epochs, "cuda") for _ in range(3))
        seconds[f"K = {n_members}"] = best * work.epochs / epochs
    return seconds


def functional(n_data: int = 50, n_members: int = 30, device: str = "cpu") -> dict[str, float]:
    """Return the seconds of functional anchoring for the materials problem, with simulated data.

    The data are drawn from the prior.
    """
    X = 2.0 * np.random.default_rng(0).uniform(size=(n_data, len(INPUT_NAMES))) - 1.0
    y = MATERIALS.prior.sample(X, 1, 1)[0]
    ensemble = bnn.FunctionAnchoredEnsemble(
        MATERIALS.prior,
        noise=noise_std(),
        n_members=n_members,
        pretraining=bnn.Pretraining(
            n_members, range_factor=2.0, training=bnn.TrainingSettings(epochs=500)
        ),
        scaling=bnn.Scaling(inputs=None, outputs=None),
        device=device,
        random_state=0,
    )
    times = [(time.perf_counter(), time.process_time())]
    ensemble.pretrain(n_features=len(INPUT_NAMES))
    times.append((time.perf_counter(), time.process_time()))
    ensemble.fit(X, y)
    times.append((time.perf_counter(), time.process_time()))
    names = "pre-training s", "pre-training cpu s", "training s", "training cpu s"
    seconds = dict(zip(names, np.diff(times, axis=0).ravel(), strict=True))
    return seconds | {"iterations": float(ensemble.members_.epochs.mean())}


def product_rates() -> dict[str, dict[str, float]]:
    """Return GFLOP/s of one core in the three products of a hidden layer, for PyTorch and bnn."""
    # 50 members, 50 x 50 weights and a bias, batches of 32.
    W = torch.rand(50, 51, 50)
    H = torch.rand(50, 51, 32)
    D = torch.rand(50, 50, 32)
    Z = torch.rand(50, 50, 32)
    G = torch.empty_like(W)
    below = W[:, :-1], D, Z
    tasks = {"forward": (W.mT, H, Z), "weight gradient": (H, D.mT, G), "layer below": below}

    def rate(products, matrices: tuple[torch.Tensor, ...]) -> float:
        """Return the GFLOP/s of one batched matrix product, the best of five runs."""
        operands = [products.operand(matrix) for matrix in matrices]
        timer = Timer("multiply(*o)", globals={"multiply": products.multiply, "o": operands})
        flops = 2 * matrices[0].numel() * matrices[1].shape[2]
        return flops / min(timer.timeit(100).mean for _ in range(5)) / 1e9  # on one thread

    kinds = {"PyTorch's": TORCH, "ours": products_on(torch.device("cpu"))}
    return {
        kind: {name: rate(products, matrices) for name, matrices in tasks.items()}
        for kind, products in kinds.items()
    }


def shown(figures: dict[str, float], decimals: int = 1) -> str:
    """Return names and numbers as one line of text."""
    return "  ".join(f"{name} {value:.{decimals}f}" for name, value in figures.items())


def main(full: bool) -> None:
    """Print the table, from all epochs or from a fiftieth of them."""
    share = 1.0 if full else 0.02
    threads = torch.get_num_threads()
    load = os.getloadavg()[0]
    print(f"{threads} threads, load {load:.1f}, torch {torch.__version__}")
    print("seconds, and how many times as long a member-by-member loop takes")
    for name, work in (("prior C", STUDY), ("materials", MATERIALS)):
        row = compare(work, share)
        print(f"{name}, K = {work.n_members}, {work.epochs} epochs:", shown(row))
        if torch.cuda.is_available():
            print(
                f"    seconds on {torch.cuda.get_device_name()}:", shown(gpu_seconds(work, share))
            )
    print("functional anchoring, materials, K = 30:", shown(functional()))
    print("products of a hidden layer, GFLOP/s of a core")
    for kind, rates in product_rates().items():
        print(f"    {kind:10}", shown(rates, 0))


def main_gpu(full: bool) -> None:
    """Print the seconds of the workloads on a GPU, from all epochs or from a fiftieth of them."""
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}")
    for name, work in (("prior C", STUDY), ("materials", MATERIALS)):
        row = gpu_seconds(work, 1.0 if full else 0.02)
        print(f"{name}, {work.epochs} epochs, seconds:", shown(row))
    functional(device="cuda")  # the first run loads the kernels
    print("functional anchoring, materials, K = 30:", shown(functional(device="cuda")))


if __name__ == "__main__":
    if options.gpu:
        main_gpu(options.full)
    else:
        main(options.full)
