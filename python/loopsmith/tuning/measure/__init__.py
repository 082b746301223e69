# SPDX-License-Identifier: Apache-2.0
"""What candidates do and take: in a child process, on another machine, on many."""
