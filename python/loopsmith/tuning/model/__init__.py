# SPDX-License-Identifier: Apache-2.0
"""What ranks candidates before they are measured."""
