# SPDX-License-Identifier: Apache-2.0

# loopsmith_sqlite: files of records. It becomes part of what we link, as LLVM does.
find_path(SQLITE_INCLUDE_DIR sqlite3.h)
find_library(SQLITE_ARCHIVE libsqlite3.a)
if(NOT SQLITE_INCLUDE_DIR OR NOT SQLITE_ARCHIVE)
  message(FATAL_ERROR "Loopsmith needs SQLite, which was not found: run tools/setup.sh, or install libsqlite3-dev.")
endif()
add_library(loopsmith_sqlite INTERFACE)
target_include_directories(loopsmith_sqlite SYSTEM INTERFACE ${SQLITE_INCLUDE_DIR})
target_link_libraries(loopsmith_sqlite INTERFACE ${SQLITE_ARCHIVE} Threads::Threads ${CMAKE_DL_LIBS} m)
