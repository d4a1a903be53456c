"""The child process that holds a GGUF model: llama.cpp's own server on loopback.

A process of its own, because llama.cpp ends the whole process, or hangs, on some damaged model
files, keeps Python still while it loads, and writes its log to the standard streams. It is started
by ``engine.py`` as a file, imports nothing of ``rag``, takes its orders as one line of JSON on
standard input and ends when that is closed, which also happens when the parent dies.
"""

import faulthandler
import json
import os
import signal
import sys
from typing import Any

PING_S = 1  # a vanished client is noticed by these, also before the first token
BATCH = 32  # prompt tokens between two looks at the clients; larger ones are hardly faster


def main() -> None:
    """Load the model, say where it listens, and serve until standard input is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's business
    reply = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    order = json.loads(sys.stdin.readline())
    faulthandler.dump_traceback_later(order["load_timeout_s"], exit=True)
    import xllamacpp

    try:
        server = xllamacpp.Server(parameters(xllamacpp, order))
        answer = {"address": server.listening_address}
    except RuntimeError as exc:
        answer = {"error": str(exc).strip()}
    faulthandler.cancel_dump_traceback_later()
    reply.write(json.dumps(answer) + "\n")
    reply.flush()
    if "address" in answer:
        sys.stdin.read()
    os._exit(0)  # taking the server down in order can wait for ever while it answers


def parameters(xllamacpp: Any, order: dict[str, Any]) -> Any:
    """Translate the parent's order into llama.cpp's parameters."""
    params = xllamacpp.CommonParams()
    params.model.path = order["path"]
    params.n_ctx = order["context"]
    params.n_parallel = 1
    params.n_batch = params.n_ubatch = BATCH
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = order["threads"]
    params.sampling.temp = 0.0
    params.sampling.seed = order["seed"]
    params.cache_prompt = True
    params.hostnames, params.port = ["127.0.0.1"], 0
    params.api_keys = [order["key"]]
    params.cors_origins, params.cors_credentials = "", False
    params.sse_ping_interval = PING_S
    params.ui = False
    params.offline = True
    params.use_jinja = True  # llama.cpp's own engine, in C++: a template cannot reach Python
    params.reasoning_format = xllamacpp.common_reasoning_format.COMMON_REASONING_FORMAT_NONE
    return params


if __name__ == "__main__":
    main()
