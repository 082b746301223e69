# SPDX-License-Identifier: Apache-2.0
"""The script language: ``from loopsmith.script import tir as T, ir as I``."""

from . import ir, tir
from .decorators import definitions, from_source

__all__ = ["definitions", "from_source", "ir", "tir"]
