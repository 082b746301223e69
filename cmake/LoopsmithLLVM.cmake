# SPDX-License-Identifier: Apache-2.0

# loopsmith_llvm: LLVM 22, static, with what code generation needs of it.
find_package(LLVM 22.1 REQUIRED CONFIG PATHS /usr/lib/llvm-22/cmake)
llvm_map_components_to_libnames(
  loopsmith_llvm_components core passes orcjit runtimedyld object mc target asmparser linker bitwriter x86codegen x86asmparser
  x86desc x86info x86disassembler aarch64codegen aarch64desc aarch64info
  riscvcodegen riscvdesc riscvinfo)
add_library(loopsmith_llvm INTERFACE)
target_include_directories(loopsmith_llvm SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS})
target_compile_definitions(loopsmith_llvm INTERFACE ${LLVM_DEFINITIONS_LIST})
target_link_libraries(loopsmith_llvm INTERFACE ${loopsmith_llvm_components})
