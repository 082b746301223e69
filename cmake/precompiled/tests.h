// SPDX-License-Identifier: Apache-2.0
// Headers of others that most tests read.
#pragma once
#include <gtest/gtest.h>

#include "cmake/precompiled/standard.h"
