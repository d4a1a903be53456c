"""Loaded at the start of a program under test: lets it reach loopback only, and notes the rest.

Every attempt to reach or look up another host is refused and written to the file OFFLINE_LOG.
"""

import os
import sys

LOOPBACK = ("127.", "::1", "localhost", "0.0.0.0")


def _host(event, args):
    if event == "socket.getaddrinfo":
        return args[0]
    if event in ("socket.connect", "socket.sendto", "socket.sendmsg"):
        address = args[1]
        return address[0] if isinstance(address, tuple) else None
    return None


def _refuse(event, args):
    host = _host(event, args)
    host = host.decode() if isinstance(host, bytes) else host
    if host and not host.startswith(LOOPBACK):
        with open(os.environ["OFFLINE_LOG"], "a") as log:
            log.write(f"{event} {host}\n")
        raise ConnectionRefusedError(f"{event} {host}")


sys.addaudithook(_refuse)
