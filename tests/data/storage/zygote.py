"""Imports once, then adds files in child processes that kill themselves at a named moment.

Reads one JSON object a line: home, library, file, and where to die: the name of a function in
"module:Class.method" form, which call of it, and whether before, inside or after. Writes the
child's exit status.
"""

import importlib
import json
import os
import signal
import sys
import threading

from rag.library import open_library
from rag.settings import Settings


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def arm(where, call, when):
    """Make the nth call of a function kill this process."""
    module, _, path = where.partition(":")
    *owners, name = path.split(".")
    owner = importlib.import_module(module)
    for part in owners:
        owner = getattr(owner, part)
    real, calls = getattr(owner, name), iter(range(1, 1_000_000))

    def armed(*args, **kwargs):
        mine = next(calls) == call
        if mine and when == "before":
            die()
        if mine and when.startswith("inside"):
            threading.Timer(float(when.partition(" ")[2]) / 1000, die).start()
        result = real(*args, **kwargs)
        if mine and when == "after":
            die()
        return result

    setattr(owner, name, armed)


def child(order):
    if order.get("where"):
        arm(order["where"], order["call"], order["when"])
    settings = Settings(home=order["home"], embedder="word-hash")
    with open_library(order["library"], settings=settings, create=True) as library:
        library.add(order["file"], wait=order.get("wait", True))


def main():
    for name in ("chromadb", "rag.readers.jsonl", "rag.testing"):
        importlib.import_module(name)  # once for all children
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            child(json.loads(line))
            os._exit(0)
        _, status = os.waitpid(pid, 0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
