"""Run the examples and keep what they print and draw for the site: python -m docs.gallery."""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

from safe_files.writing import replacing, write_atomic

ROOT = Path(__file__).parents[2]
KEPT = Path(__file__).parent
NAMES = sorted(path.stem for path in (ROOT / "examples").glob("*.py"))
WIDEST = 1000  # of a kept picture [pixels]


def keep(name: str) -> None:
    """Run an example as its command does, in a folder of its own, and keep output and picture."""
    with tempfile.TemporaryDirectory() as folder:
        picture = Path(folder, f"{name}.png")
        command = [sys.executable, "-m", f"examples.{name}", "--out", str(picture)]
        if '"--data"' in (ROOT / "examples" / f"{name}.py").read_text(encoding="utf-8"):
            command += ["--data", str(Path(folder, "data"))]
        done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
        small = Image.open(picture).convert("RGB")
        small.thumbnail((WIDEST, WIDEST))
        with replacing(KEPT / f"{name}.png", None) as file:
            small.quantize(128).save(file, "png", optimize=True)
        write_atomic(KEPT / f"{name}.txt", done.stdout.encode(), None)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=NAMES, metavar="name", help=", ".join(NAMES))
    for example in parser.parse_args().names:
        if example not in NAMES:
            parser.error(f"{example} is no example: {', '.join(NAMES)} are")
        keep(example)
        print(example)
