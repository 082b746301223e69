# SPDX-License-Identifier: Apache-2.0

# What a kernel and a host in plain C reach of the runtime stays small: this test links it into a shared
# object by itself. (Exported kernels contain the C of loopsmith/runtime/kernel, which is smaller.)
if(LOOPSMITH_BUILD_TESTS AND CMAKE_BUILD_TYPE STREQUAL "Release")
  add_library(kernel_runtime_probe MODULE ${PROJECT_SOURCE_DIR}/loopsmith/runtime/c_abi_test.c)
  target_link_libraries(kernel_runtime_probe PRIVATE loopsmith_runtime)
  set_target_properties(kernel_runtime_probe PROPERTIES LINKER_LANGUAGE CXX)
  target_link_options(
    kernel_runtime_probe PRIVATE LINKER:--gc-sections LINKER:--exclude-libs,ALL LINKER:--strip-all
                                 LINKER:-z,defs LINKER:-u,ls_check_arguments)
  add_test(NAME runtime.what_kernels_contain_is_below_100_kB
           COMMAND ${CMAKE_COMMAND} -DFILE=$<TARGET_FILE:kernel_runtime_probe> -DLIMIT=100000 -P
                   ${CMAKE_CURRENT_LIST_DIR}/check_size.cmake)
endif()
