// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/driver/back_ends/opencl.h"

#include "loopsmith/codegen/source/device_text.h"
#include "loopsmith/driver/back_ends/device.h"

namespace loopsmith {
namespace {

constexpr TextForm forms_of_opencl[] = {{"opencl", device_text, device_lines}};

class OpenClBackEnd final : public DeviceBackEnd {
 public:
  std::span<const TextForm> forms() const override { return forms_of_opencl; }
  std::optional<std::string> file(const CodeRequest& request,
                                  std::string_view suffix) const override {
    if (suffix != ".cl") return std::nullopt;
    return device_text(request);
  }
};

}  // namespace

const BackEnd& opencl_back_end() {
  static const OpenClBackEnd back_end;
  return back_end;
}

}  // namespace loopsmith
