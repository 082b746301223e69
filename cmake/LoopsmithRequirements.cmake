# SPDX-License-Identifier: Apache-2.0

# loopsmith_require(package title debian_package [arguments of find_package...])
#
# Finds a package, or stops with a sentence that says what to install.
macro(loopsmith_require package title debian_package)
  find_package(${package} ${ARGN} QUIET)
  if(NOT ${package}_FOUND)
    message(
      FATAL_ERROR
        "Loopsmith needs ${title}, which was not found: run tools/setup.sh, or install ${debian_package}.")
  endif()
endmacro()

if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 12)
  message(
    FATAL_ERROR
      "Loopsmith needs GCC 12 or newer, and ${CMAKE_CXX_COMPILER} is ${CMAKE_CXX_COMPILER_VERSION}: "
      "run tools/setup.sh, or set CXX to a newer compiler.")
endif()
