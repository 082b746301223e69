// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/schedule/intrinsics/tensor_intrin.h"
#include "loopsmith/te/tensor_intrin.h"

namespace loopsmith::te {

/// What the engine puts in the place of a tile: of all of an operation without a reduction; of the
/// start of a reduction; of what is combined with it. Null where the declaration has no statement
/// for it.
struct IntrinFunctions {
  Ptr<TensorIntrin> whole;
  Ptr<TensorIntrin> init;
  Ptr<TensorIntrin> update;
};

/// `for_all`: an update covers the whole reduction, so that a statement which computes all of it is
/// one, too.
IntrinFunctions functions_of(const TensorIntrinDecl& intrin, bool for_all);

}  // namespace loopsmith::te
