// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/driver/back_end.h"

namespace loopsmith {

/// What back ends for devices have in common: kernels for the device, and a part for the host.
class DeviceBackEnd : public BackEnd {
 public:
  std::string foreign_triple(const Target&) const override { return {}; }
  bool has_instructions_of(const Target&) const override { return true; }
  int vector_bits(const Target& target) const override;
  CpuModel machine_of(const Target& target) const override;
  Ptr<PrimFunc> adapted(const Ptr<PrimFunc>& func, const Target& target) const override;
  /// The host's part.
  std::vector<char> object(const CodeRequest& request, const StatementLines* lines) const override;
  /// Refused: it would need the driver's interface.
  std::vector<LibraryPart> library_parts(const CodeRequest& request) const override;
};

}  // namespace loopsmith
