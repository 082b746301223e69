// SPDX-License-Identifier: Apache-2.0
// All that a C++ user needs: tensor expressions, building, calling.
#pragma once
#include "loopsmith/driver/build.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/script_printer.h"
#include "loopsmith/runtime/ndarray.h"
#include "loopsmith/te/te.h"
