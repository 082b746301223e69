# SPDX-License-Identifier: Apache-2.0
"""Which schedules of a space are tried, and in which order."""
