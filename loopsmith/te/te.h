// SPDX-License-Identifier: Apache-2.0
// Tensor expressions, all of it.
#pragma once
#include "loopsmith/te/compute.h"
#include "loopsmith/te/create_prim_func.h"
#include "loopsmith/te/extern.h"
#include "loopsmith/te/gradient.h"
#include "loopsmith/te/reduce.h"
#include "loopsmith/te/scan.h"
#include "loopsmith/te/schedule.h"
#include "loopsmith/te/tensor.h"
#include "loopsmith/te/tensor_intrin.h"
#include "loopsmith/te/tensor_operators.h"
