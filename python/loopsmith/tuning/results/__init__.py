# SPDX-License-Identifier: Apache-2.0
"""What a search has found, and how it is shown."""
