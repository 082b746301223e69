# SPDX-License-Identifier: Apache-2.0
"""The child process in which candidates run.

Requests and replies are pickles, through the standard input and output. A candidate that crashes
takes this process along, and nothing else.
"""

from __future__ import annotations

import os
import pickle
import sys
from typing import Any, BinaryIO

from ...errors import UserError
from .worker import LENGTH, Job, Prepare, Worker


def serve(requests: BinaryIO, replies: BinaryIO) -> None:
    """Answer requests until there are no more; the first is the job."""
    worker = None
    while True:
        try:
            request = pickle.load(requests)
        except EOFError:
            return
        if isinstance(request, Job):
            reply: Any
            try:
                worker = Worker(request)
                reply = worker.expected
            except (UserError, MemoryError) as error:
                reply = "run error", str(error)
        else:
            assert worker is not None
            is_ahead = isinstance(request, Prepare)
            reply = worker.prepare(request) if is_ahead else worker.answer(request)
        text = pickle.dumps(reply, pickle.HIGHEST_PROTOCOL)
        replies.write(LENGTH.pack(len(text)) + text)
        replies.flush()


def main() -> None:
    """Serve the process that started this one."""
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # What programs print is no reply.
    serve(sys.stdin.buffer, replies)


if __name__ == "__main__":
    main()
