"""Speed of bnn: python -m bench.bnn prints the table, --full runs every epoch of it."""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import resource
import time
import timeit
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from bnn import (
    RBF,
    Architecture,
    FunctionAnchoredEnsemble,
    GaussianProcessPrior,
    LinearMean,
    RandomMean,
    TrainingSettings,
    latin_hypercube,
    train,
)
from bnn._seeding import member_seeds, seed_sequence
from bnn.training.matmul import TORCH, products_on


@dataclass(frozen=True)
class Workload:
    """A pre-training problem of the paper.

    Attributes:
        widths: Of the networks.
        prior: Functional prior.
        n_members: K.
        n_points: M.
        epochs: As published.
    """

    widths: tuple[int, ...]
    prior: GaussianProcessPrior
    n_members: int
    n_points: int
    epochs: int

    def data(self, n_members: int) -> tuple:
        """Return architecture, start, inputs, targets and seeds for n_members."""
        architecture = Architecture(self.widths)
        X = latin_hypercube(self.n_points, self.widths[0], 0)
        y = self.prior.sample(X, n_members, 0)
        noise = np.random.default_rng(0).standard_normal((n_members, architecture.n_weights))
        start = (architecture.initial_weights(1, 0) + 0.01 * noise).astype(np.float32)
        return architecture, start, X, y, member_seeds(seed_sequence(0), n_members)


def line(X: np.ndarray) -> np.ndarray:
    return 2.0 * X[:, 0]


def cubic(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return 5.0 * rng.uniform(-1.0, 1.0) * X[:, 0] ** 3


STUDY_WIDTHS = (1, 50, 50, 50, 50, 1)
STUDY = {
    "A": Workload(STUDY_WIDTHS, GaussianProcessPrior(line, RBF(0.6, 0.8)), 100, 400, 100),
    "B": Workload(STUDY_WIDTHS, GaussianProcessPrior(line, RBF(0.6, 0.2)), 100, 400, 200),
    "C": Workload(STUDY_WIDTHS, GaussianProcessPrior(line, RBF(0.6, 0.05)), 100, 400, 2000),
    "D": Workload(
        STUDY_WIDTHS, GaussianProcessPrior(RandomMean(cubic), RBF(0.1, 0.2)), 100, 400, 250
    ),
}
MATERIALS = Workload(
    (4, 20, 20, 20, 20, 5),
    GaussianProcessPrior(
        LinearMean([0.656, -0.191, 0.933, -0.876, 1.195]),
        RBF(0.2, 0.8),
        5,
        [[0, 1, 2], [0, 2, 3], [0, 1], [0], [0, 1, 2, 3]],
    ),
    50,
    500,
    1000,
)


def batched_seconds(work: Workload, n_members: int, epochs: int, device: str = "cpu") -> float:
    """Return the seconds of `epochs` epochs of n_members networks with bnn.train."""
    architecture, start, X, y, seeds = work.data(n_members)
    begin = time.perf_counter()
    train(architecture, start, X, y, TrainingSettings(epochs=epochs), seeds=seeds, device=device)
    if device != "cpu":
        torch.cuda.synchronize()
    return time.perf_counter() - begin


def loop_seconds(work: Workload, epochs: int) -> float:
    """Return the seconds of `epochs` epochs of one network in a usual PyTorch loop, one thread.

    Products of this size gain nothing from a second thread.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    _, _, X, y, _ = work.data(2)
    layers: list[torch.nn.Module] = []
    for n_in, n_out in zip(work.widths, work.widths[1:], strict=False):
        layers += [torch.nn.Linear(n_in, n_out), torch.nn.LeakyReLU(0.01)]
    network = torch.nn.Sequential(*layers[:-1])
    data = torch.utils.data.TensorDataset(
        torch.as_tensor(X, dtype=torch.float32), torch.as_tensor(y[0], dtype=torch.float32)
    )
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


def keras_seconds(work: Workload, epochs: int) -> float | None:
    """Return the seconds of `epochs` epochs of one network with Keras's `fit`, if it is here."""
    if importlib.util.find_spec("keras") is None:
        return None
    import keras

    _, _, X, y, _ = work.data(2)
    layers: list = [keras.Input(work.widths[:1])]
    for n_out in work.widths[1:-1]:
        layers += [keras.layers.Dense(n_out), keras.layers.LeakyReLU(0.01)]
    network = keras.Sequential([*layers, keras.layers.Dense(work.widths[-1])])
    network.compile(optimizer=keras.optimizers.Adam(1e-3, epsilon=1e-7), loss="mse")
    network.fit(X, y[0], batch_size=32, epochs=1, verbose=0)  # traces the graph
    begin = time.perf_counter()
    network.fit(X, y[0], batch_size=32, epochs=epochs, verbose=0)
    return time.perf_counter() - begin


def compare(name: str, work: Workload, share: float, repeats: int) -> dict:
    """Time a workload and a loop beside it, alternately; the best of each counts.

    Args:
        name: Of the workload.
        work: The workload.
        share: Fraction of its epochs to run; the time is scaled up.
        repeats: How often.

    Returns:
        Wall and processor seconds of the whole workload, and for each kind of member-by-member
        loop its seconds and their ratio to the wall time.
    """
    epochs = max(int(share * work.epochs), 2)
    few = max(epochs // 50, 2)
    batched_seconds(work, work.n_members, 2)
    loop_seconds(work, 1)
    batched, processor = [], []
    loops: dict[str, list[float]] = {"PyTorch": [], "Keras": []}
    for _ in range(repeats):
        begin = time.process_time()
        batched.append(batched_seconds(work, work.n_members, epochs))
        processor.append(time.process_time() - begin)
        for name_, measure in (("PyTorch", loop_seconds), ("Keras", keras_seconds)):
            seconds = measure(work, few)
            if seconds is not None:
                loops[name_].append(seconds / few)
    scale, total = work.epochs / epochs, work.epochs * work.n_members
    row = {"workload": name, "seconds": min(batched) * scale, "processor": min(processor) * scale}
    for name_, times in loops.items():
        if times:
            row[f"{name_} loop"] = min(times) * total
            row[f"{name_} ratio"] = min(times) * total / row["seconds"]
    return row


def functional(n_data: int = 50, n_members: int = 30) -> dict:
    """Time functional anchoring of the materials' networks: pre-training, and one data set.

    Args:
        n_data: Rows of the data set, drawn from the prior.
        n_members: K.

    Returns:
        Wall and processor seconds of both, and Gauss-Newton iterations per member.
    """
    prior, noise = MATERIALS.prior, np.array([0.066, 0.0388, 0.0193, 0.0524, 0.25])
    X = 2.0 * np.random.default_rng(0).uniform(size=(n_data, 4)) - 1.0
    y = prior.sample(X, 1, 1)[0]
    ensemble = FunctionAnchoredEnsemble(
        prior, n_pretrained=n_members, n_members=n_members, noise=noise, random_state=0
    )
    times = [(time.perf_counter(), time.process_time())]
    for step in (lambda: ensemble.pretrain(n_features=4), lambda: ensemble.fit(X, y)):
        step()
        times.append((time.perf_counter(), time.process_time()))
    (pre, pre_cpu), (fit, fit_cpu) = np.diff(times, axis=0)
    return {
        "pre-training s": pre,
        "pre-training cpu s": pre_cpu,
        "training s": fit,
        "training cpu s": fit_cpu,
        "iterations": float(ensemble.members_.epochs.mean()),
    }


def product_rates(k: int = 50, width: int = 50, batch: int = 32) -> dict[str, dict[str, float]]:
    """Return GFLOP/s of one core in the three products of a hidden layer, for each product at hand.

    Args:
        k: Members.
        width: Of the layer and the one below.
        batch: Points.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    W, H = torch.rand(k, width + 1, width), torch.rand(k, width + 1, batch)
    D, Z, G = torch.rand(k, width, batch), torch.rand(k, width, batch), torch.empty_like(W)
    tasks = {
        "forward": (W.mT, H, Z),
        "weight gradient": (H, D.mT, G),
        "layer below": (W[:, :-1], D, Z),
    }
    kinds = {"PyTorch's": TORCH, "ours": products_on(torch.device("cpu"))}
    rates: dict[str, dict[str, float]] = {}
    for kind, products in kinds.items():
        rates[kind] = {}
        for name, matrices in tasks.items():
            operands = [products.operand(matrix) for matrix in matrices]
            flops = 2 * matrices[0].numel() * matrices[1].shape[2]
            seconds = min(
                timeit.repeat(lambda p=products, o=operands: p.multiply(*o), number=100, repeat=5)
            )
            rates[kind][name] = 100 * flops / seconds / 1e9
    torch.set_num_threads(threads)
    return rates


def scaling(work: Workload, epochs: int, counts: tuple[int, ...]) -> dict[int, float]:
    """Return milliseconds per epoch and member for several K."""
    return {k: 1e3 * batched_seconds(work, k, epochs) / epochs / k for k in counts}


def gpu_rows() -> list[str]:
    """Time prior C, and all four priors with ten seeds, on a GPU; nothing where there is none."""
    if not torch.cuda.is_available():
        return ["GPU: none here, not measured"]
    seconds = batched_seconds(STUDY["C"], 100, 2000, "cuda")
    stacked = sum(batched_seconds(w, 10 * w.n_members, w.epochs, "cuda") for w in STUDY.values())
    return [
        f"GPU: prior C {seconds:.1f} s (goal 4)",
        f"GPU: four priors, ten seeds each {stacked:.1f} s (goal 60)",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="run all epochs, not a share of them")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", help="also write the figures to this file")
    arguments = parser.parse_args()
    share = 1.0 if arguments.full else 0.02
    print(f"{torch.get_num_threads()} threads, load {os.getloadavg()[0]:.1f}, torch", end=" ")
    print(torch.__version__)
    rows = [
        compare("prior C, K = 100, 2000 epochs", STUDY["C"], share, arguments.repeats),
        compare("materials, K = 50, 1000 epochs", MATERIALS, share, arguments.repeats),
    ]
    goals = ("goal 40 s, 60 x", "goal 12 s")
    # On a busy machine, processor seconds divided by threads is what an idle one would take.
    print("seconds, and how many times as long a member-by-member loop takes")
    for goal, row in zip(goals, rows, strict=True):
        name, *figures = row.items()
        print(f"{name[1]:34}", *(f"{key} {value:.1f}" for key, value in figures), f"({goal})")
    anchored = functional()
    print("functional anchoring, materials, K = 30 (goal: training 30 s)")
    print("   ", *(f"{key} {value:.1f} " for key, value in anchored.items()))
    counts = scaling(STUDY["C"], 10, (50, 100, 200, 500, 1000))
    print("prior C, ms per epoch and member:", {k: round(v, 3) for k, v in counts.items()})
    print("products of a hidden layer, GFLOP/s of a core")
    for kind, rates in product_rates().items():
        print(f"    {kind:10}", *(f"{name} {rate:.0f} " for name, rate in rates.items()))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"peak memory {memory:.0f} MB (goal 1000)")
    print("\n".join(gpu_rows()))
    if arguments.json:
        record = {"rows": rows, "functional": anchored, "scaling": counts, "peak_memory_mb": memory}
        Path(arguments.json).write_text(json.dumps(record, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
