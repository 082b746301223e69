// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Of a parameter, or of a member function after its parameters: what is returned lives as long as
/// that object. Clang refuses to keep what is taken of a temporary.
#ifdef __clang__
#define LOOPSMITH_LIFETIME_BOUND [[clang::lifetimebound]]
#else
#define LOOPSMITH_LIFETIME_BOUND
#endif
