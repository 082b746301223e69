# SPDX-License-Identifier: Apache-2.0

# Files that exported kernels contain become texts of the library.
function(loopsmith_embed_kernel_sources)
  set(runtime ${PROJECT_SOURCE_DIR}/loopsmith/runtime)
  foreach(file IN ITEMS dlpack.h c_abi.h kernel/check_arguments.c kernel/standalone/context.c)
    get_filename_component(name ${file} NAME_WE)
    file(READ ${runtime}/${file} ${name})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${runtime}/${file})
  endforeach()
  set(made ${PROJECT_BINARY_DIR}/embedded)
  configure_file(${runtime}/kernel/embedded.h.in ${made}/loopsmith/runtime/kernel/embedded.h @ONLY)
  target_include_directories(loopsmith_runtime PRIVATE ${made})
endfunction()
