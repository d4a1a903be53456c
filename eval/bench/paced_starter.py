"""Runs a starter program unchanged, one retrieval at a time when told, and notes what it embeds.

A program of its own, started by ``speed_peer.py`` with the starter's own Python: it imports nothing
of Citewell. Each retrieval waits for a line on standard input, so that both sides can be asked in
turn; the time of each goes to standard output as one line of JSON with the key ``paced``.
"""

import argparse
import json
import runpy
import sys
import time
from pathlib import Path
from typing import Any

KEY = "paced"


def main() -> None:
    """Put the hooks in place and run the starter with the rest of the arguments."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--texts", required=True, help="Where the embedded texts are noted.")
    parser.add_argument("--pace", action="store_true", help="Let each retrieval wait to be told.")
    parser.add_argument("starter")
    parser.add_argument("rest", nargs=argparse.REMAINDER)
    args = parser.parse_args()
    own = Path(__file__).resolve().parent
    sys.path[:] = [one for one in sys.path if not one or Path(one).resolve() != own]
    note_texts(Path(args.texts))
    if args.pace:
        pace()
    sys.argv = [args.starter, *args.rest]
    runpy.run_path(args.starter, run_name="__main__")


def note_texts(file: Path) -> None:
    """Let every embedding model of LlamaIndex note the texts that it is given in a batch."""
    from llama_index.core.base.embeddings.base import BaseEmbedding

    original: Any = BaseEmbedding.get_text_embedding_batch

    def noted(self: Any, texts: Any, *args: Any, **kwargs: Any) -> Any:
        found = original(self, texts, *args, **kwargs)
        with file.open("a", encoding="utf-8") as stream:
            stream.writelines(json.dumps(text) + "\n" for text in texts)
        return found

    BaseEmbedding.get_text_embedding_batch = noted  # type: ignore[method-assign]  # a hook


def pace() -> None:
    """Let every retriever of LlamaIndex say when it is ready, wait for a line, tell its time."""
    from llama_index.core.base.base_retriever import BaseRetriever

    original: Any = BaseRetriever.retrieve

    def paced(self: Any, *args: Any, **kwargs: Any) -> Any:
        _say("ready")
        if not sys.stdin.readline():
            sys.exit("nobody asks any more")
        began = time.perf_counter()
        found = original(self, *args, **kwargs)
        _say(1000 * (time.perf_counter() - began))
        return found

    BaseRetriever.retrieve = paced  # type: ignore[method-assign]  # a hook


def _say(what: object) -> None:
    sys.stdout.write(json.dumps({KEY: what}) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
