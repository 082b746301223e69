# SPDX-License-Identifier: Apache-2.0
"""``python -m loopsmith`` is the command ``loopsmith``."""

from .cli import main

if __name__ == "__main__":
    main()
