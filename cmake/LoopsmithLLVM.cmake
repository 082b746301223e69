# SPDX-License-Identifier: Apache-2.0

# loopsmith_llvm: LLVM 22, static, with what code generation needs of it.
# zlib and zstd become part of what we link: a wheel asks its host for nothing but the C and C++
# libraries.
set(ZLIB_USE_STATIC_LIBS ON)
if(ZLIB_LIBRARY_RELEASE MATCHES "\\.so$")
  unset(ZLIB_LIBRARY_RELEASE CACHE)
endif()
loopsmith_require(LLVM "LLVM 22" llvm-22-dev 22.1 CONFIG PATHS /usr/lib/llvm-22/cmake)
if(TARGET zstd::libzstd_static AND TARGET zstd::libzstd_shared)
  get_target_property(zstd_archive zstd::libzstd_static IMPORTED_LOCATION)
  set_target_properties(zstd::libzstd_shared PROPERTIES IMPORTED_LOCATION ${zstd_archive})
endif()
llvm_map_components_to_libnames(
  loopsmith_llvm_components core passes orcjit runtimedyld debuginfodwarf object mc target asmparser linker bitwriter x86codegen x86asmparser
  x86desc x86info x86disassembler aarch64codegen aarch64desc aarch64info
  riscvcodegen riscvdesc riscvinfo)
add_library(loopsmith_llvm INTERFACE)
target_include_directories(loopsmith_llvm SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS})
target_compile_definitions(loopsmith_llvm INTERFACE ${LLVM_DEFINITIONS_LIST})
target_link_libraries(loopsmith_llvm INTERFACE ${loopsmith_llvm_components})
