"""``python -m rag`` is the same program as ``citewell``."""

from .cli import main

main()
