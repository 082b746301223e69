// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/runtime/dtype.h"

namespace loopsmith {
namespace {

/// The name of a type code, and whether the number of bits follows it.
struct CodeName {
  const char* name;
  bool has_bits;
};

CodeName code_name(std::uint8_t code) {
  switch (code) {
    case kDLInt: return {"int", true};
    case kDLUInt: return {"uint", true};
    case kDLFloat: return {"float", true};
    case kDLOpaqueHandle: return {"handle", false};
    case kDLBfloat: return {"bfloat", true};
    case kDLComplex: return {"complex", true};
    case kDLBool: return {"bool", false};
    case kDLFloat8_e3m4: return {"e3m4_float8", false};
    case kDLFloat8_e4m3: return {"e4m3_ieee_float8", false};
    case kDLFloat8_e4m3b11fnuz: return {"e4m3b11fnuz_float8", false};
    case kDLFloat8_e4m3fn: return {"e4m3_float8", false};
    case kDLFloat8_e4m3fnuz: return {"e4m3fnuz_float8", false};
    case kDLFloat8_e5m2: return {"e5m2_float8", false};
    case kDLFloat8_e5m2fnuz: return {"e5m2fnuz_float8", false};
    case kDLFloat8_e8m0fnu: return {"e8m0fnu_float8", false};
    case kDLFloat6_e2m3fn: return {"e2m3fn_float6", false};
    case kDLFloat6_e3m2fn: return {"e3m2fn_float6", false};
    case kDLFloat4_e2m1fn: return {"e2m1fn_float4", false};
    default: return {"unknown", true};
  }
}

const char* device_name(DLDeviceType type) {
  switch (type) {
    case kDLCPU: return "cpu";
    case kDLCUDA: return "cuda";
    case kDLCUDAHost: return "cuda_host";
    case kDLOpenCL: return "opencl";
    case kDLVulkan: return "vulkan";
    case kDLMetal: return "metal";
    case kDLVPI: return "vpi";
    case kDLROCM: return "rocm";
    case kDLROCMHost: return "rocm_host";
    case kDLExtDev: return "ext_dev";
    case kDLCUDAManaged: return "cuda_managed";
    case kDLOneAPI: return "oneapi";
    case kDLWebGPU: return "webgpu";
    case kDLHexagon: return "hexagon";
    case kDLMAIA: return "maia";
    case kDLTrn: return "trn";
  }
  return "unknown_device";
}

}  // namespace

std::string to_string(const DLDataType& type) {
  const CodeName code = code_name(type.code);
  std::string text = code.name;
  if (code.has_bits) text += std::to_string(type.bits);
  if (type.lanes != 1) text.append("x").append(std::to_string(type.lanes));
  return text;
}

std::string to_string(const DLDevice& device) {
  std::string text = device_name(device.device_type);
  if (device.device_type != kDLCPU) text.append(":").append(std::to_string(device.device_id));
  return text;
}

}  // namespace loopsmith
