# SPDX-License-Identifier: Apache-2.0

# cmake -DFILE=... -DLIMIT=... -P check_size.cmake: fails when the file has more bytes.
file(SIZE ${FILE} size)
message(STATUS "${FILE}: ${size} bytes, at most ${LIMIT}")
if(size GREATER LIMIT)
  message(FATAL_ERROR "${FILE} has grown beyond ${LIMIT} bytes")
endif()
