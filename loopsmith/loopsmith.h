// SPDX-License-Identifier: Apache-2.0
// All that a C++ user needs: tensor expressions, scheduling, building, calling, searching.
#pragma once
#include "loopsmith/driver/build.h"
#include "loopsmith/driver/schedule.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/script_text.h"
#include "loopsmith/runtime/ndarray.h"
#include "loopsmith/te/te.h"
#include "loopsmith/tune/model/learned_model.h"
#include "loopsmith/tune/records/records.h"
#include "loopsmith/tune/tuner.h"
