# SPDX-License-Identifier: Apache-2.0

# The compiler cache and the linker, where they are installed. A project around ours keeps its own.
if(PROJECT_IS_TOP_LEVEL)
  find_program(LOOPSMITH_CCACHE ccache)
  if(LOOPSMITH_CCACHE)
    # Paths are hashed relative to the sources, so that clones and build folders share objects.
    # Precompiled headers are as good as what they were made of; the cache asks for leave to think so.
    set(launcher ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1
                 CCACHE_SLOPPINESS=pch_defines,time_macros ${LOOPSMITH_CCACHE})
    set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
    set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
  endif()

  # Found beside LLVM, because an older version often owns the name in PATH.
  find_program(LOOPSMITH_LLD ld.lld PATHS /usr/lib/llvm-22/bin NO_DEFAULT_PATH)
  if(LOOPSMITH_LLD)
    get_filename_component(lld_folder ${LOOPSMITH_LLD} DIRECTORY)
    add_link_options(-B${lld_folder} -fuse-ld=lld)
  endif()

  if(NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE Release)
  endif()
endif()

# Functions and data without a caller stay out of what is linked.
add_compile_options(-ffunction-sections -fdata-sections)
add_link_options(LINKER:--gc-sections)
