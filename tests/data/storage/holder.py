"""Holds a library in another process until its standard input ends.

Arguments: home, library, and what to do: "write" holds the writer lock, "chroma" asks once and so
holds Chroma, "add FILE" adds a file and tells when it began and ended.
"""

import sys

from rag.library import open_library
from rag.settings import Settings


def say(text):
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def main():
    home, name, what, *rest = sys.argv[1:]
    settings = Settings(home=home, embedder="word-hash")
    with open_library(name, settings=settings, create=True) as library:
        if what == "write":
            with library._index.writing():
                say("holding")
                sys.stdin.read()
        elif what == "chroma":
            library.search("paper number")
            say("holding" if library._index.vectors.holder() is None else "not holding")
            sys.stdin.read()
        else:
            say("holding")
            report = library.add(rest[0], wait=True)
            say(f"added {report.added}")


if __name__ == "__main__":
    main()
