"""The estimators that are compared, the data that each is given, and the lines a user writes."""

import ast
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

LIBRARIES = Path(__file__).with_name("libraries")
CELLS = "the training cells"
NOISE = "and the paper's noise"
REPLICATES = "and replicates"
FIELDS = "and mean fields"


@dataclass(frozen=True)
class Peer:
    """An estimator: a class of a file of `libraries`, which runs in the library's environment."""

    library: str
    kind: str
    knows: str = CELLS
    draws: int = 24  # at most: some take minutes for each

    @property
    def name(self) -> str:
        """What it is called in the results."""
        return f"{self.library}.{self.kind}"

    @property
    def source(self) -> Path:
        """The file."""
        return LIBRARIES / f"{self.library}.py"

    @property
    def ours(self) -> bool:
        """Whether it is of this repository, and needs no environment of its own."""
        return self.library == "ours"

    @cached_property
    def code(self) -> list[ast.stmt]:
        """The class, after what it uses of its file, imports too."""
        wanted = {self.kind}
        used = []
        for statement in reversed(ast.parse(self.source.read_text(encoding="utf-8")).body):
            named = {
                (a.asname or a.name).partition(".")[0] for a in getattr(statement, "names", [])
            }
            named |= {target.id for target in getattr(statement, "targets", [])}
            if wanted & (named | {getattr(statement, "name", "")}):
                used.insert(0, statement)
                wanted |= {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}
        return used

    @property
    def label(self) -> str:
        """The docstring of the class, without its point."""
        return ast.get_docstring(self.code[-1]).rstrip(".")

    @property
    def lines(self) -> int:
        """Lines of code, one for each statement; docstrings, of one line each, do not count."""
        lines = [line.strip() for each in self.code for line in ast.unparse(each).splitlines()]
        return len([line for line in lines if line and not line.startswith('"""')])


PEERS = (
    Peer("ours", "Exact"),
    Peer("ours", "ExactByInput"),
    Peer("ours", "FunctionSpace", draws=4),
    Peer("scikit_learn", "GaussianProcess"),
    Peer("botorch", "SingleTask"),
    Peer("botorch", "MultiTask", draws=4),
    Peer("botorch", "Saas", draws=8),
    Peer("smt", "Kriging"),
    Peer("hetgpy", "HeteroscedasticProcess"),
    Peer("laplace", "Network", draws=8),
    Peer("autoemulate", "Best", draws=1),
    Peer("skorch", "DeepEnsemble"),
    Peer("mapie", "GradientBoosting"),
    Peer("ours", "ExactPaper", NOISE),
    Peer("ours", "Anchored", NOISE, draws=4),
    Peer("ours", "Vanilla", NOISE),
    Peer("ours", "ExactReplicates", REPLICATES, draws=8),
    Peer("hetgpy", "WithReplicates", REPLICATES),
    Peer("ours", "ExactFields", FIELDS),
    Peer("smt", "MultiFidelity", FIELDS, draws=4),
)
