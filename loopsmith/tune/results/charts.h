// SPDX-License-Identifier: Apache-2.0
// What the charts of a search show.
#pragma once
#include <string>
#include <vector>

#include "loopsmith/tune/results/chart.h"
#include "loopsmith/tune/results/effects.h"
#include "loopsmith/tune/results/tried.h"
#include "loopsmith/tune/sizes/size_choice.h"

namespace loopsmith::tune {

/// What a program asks for, and what a machine does at most, as measured.
struct MachineLimit {
  double flops = 0;       ///< Operations of a call,
  double bytes = 0;       ///< and of its tensors.
  double peak_flops = 0;  ///< Operations of the machine in a second,
  double bandwidth = 0;   ///< and bytes.
};

/// The time of each candidate and the best so far, as the search went on.
Chart times_chart(const std::vector<Tried>& tried, double default_seconds);
/// The median time with each decision of the choices that mattered most.
Chart decisions_chart(const std::vector<Effect>& effects);
/// What the machine does at most by operations a byte (Williams et al., "Roofline", CACM 2009), and
/// what two schedules do.
Chart roofline_chart(const MachineLimit& limit, double seconds, double default_seconds);
/// What a call takes by each of the sizes that vary.
std::vector<Chart> sizes_charts(const std::vector<SizedRow>& rows);

}  // namespace loopsmith::tune
