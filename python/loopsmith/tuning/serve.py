# SPDX-License-Identifier: Apache-2.0
"""The server of `RemoteRunner`: measures candidates for searches on other machines."""

from __future__ import annotations

import argparse
import threading
from multiprocessing.connection import Connection, Listener

from .measure.remote import key_of_runners
from .measure.runner import Runner


def serve(host: str, port: int, key: str | None = None) -> None:
    """Measure for whoever connects and has the key, each in a child process of its own; forever."""
    with Listener((host, port), authkey=key_of_runners(key)) as listener:
        print(f"listening on {listener.address[0]}:{listener.address[1]}", flush=True)
        while True:
            try:
                connection = listener.accept()
            except Exception as error:  # Another key, or a client that hung up at once.
                print(f"refused: {error!r}", flush=True)
                continue
            threading.Thread(target=_answer, args=(connection,), daemon=True).start()


def _answer(connection: Connection) -> None:
    with connection:
        try:
            start = connection.recv()
            with Runner(start.job, start.timeout) as runner:
                try:
                    runner.start()
                except Exception as error:
                    connection.send(str(error))
                    return
                connection.send(None)
                while True:
                    connection.send(runner.run(connection.recv()))
        except (EOFError, OSError):
            return  # The search has ended.


def main() -> None:
    """Serve, as the command line says."""
    parser = argparse.ArgumentParser(description=serve.__doc__)
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen on")
    parser.add_argument("--port", type=int, default=9190)
    options = parser.parse_args()
    serve(options.host, options.port)


if __name__ == "__main__":
    main()
