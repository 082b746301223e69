// SPDX-License-Identifier: Apache-2.0
// Headers of others that most bindings read.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "cmake/precompiled/standard.h"
