"""The questions that ship with Citewell, on its sample library of forty abstracts."""

from importlib import resources
from pathlib import Path


def sample_questions() -> Path:
    """Return the file of sample questions."""
    return Path(str(resources.files(__package__).joinpath("data", "sample_questions.jsonl")))
