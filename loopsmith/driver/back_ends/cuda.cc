// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/driver/back_ends/cuda.h"

#include <algorithm>

#include "loopsmith/codegen/source/device_text.h"
#include "loopsmith/driver/back_ends/device.h"
#include "loopsmith/runtime/device.h"
#include "loopsmith/support/error.h"

namespace loopsmith {
namespace {

std::string ptx_text(const CodeRequest& request) {
  return compile_cuda(device_text(request), request.target.get("arch", "sm_80"));
}

/// What is missing stands in its place, so that the other forms are shown.
TextWithLines ptx_lines(const CodeRequest& request, const StatementLines&) {
  TextWithLines made;
  try {
    made.text = ptx_text(request);
  } catch (const UserError& error) {
    made.text = "// " + error.problem().substr(0, error.problem().find('\n')) + "\n";
  }
  made.lines.resize(static_cast<std::size_t>(std::ranges::count(made.text, '\n')));
  return made;
}

constexpr TextForm forms_of_cuda[] = {{"cuda", device_text, device_lines},
                                      {"ptx", ptx_text, ptx_lines}};

class CudaBackEnd final : public DeviceBackEnd {
 public:
  std::span<const TextForm> forms() const override { return forms_of_cuda; }
  std::optional<std::string> file(const CodeRequest& request,
                                  std::string_view suffix) const override {
    if (suffix == ".cu") return device_text(request);
    if (suffix == ".ptx") return ptx_text(request);
    return std::nullopt;
  }
};

}  // namespace

const BackEnd& cuda_back_end() {
  static const CudaBackEnd back_end;
  return back_end;
}

}  // namespace loopsmith
