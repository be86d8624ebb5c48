// Transcripts of a task's life: scenarios of events, and below each what the machine does about it.
//
//   # A sentence, which begins a scenario.
//   > task: batch, attempts 1, shutdown delay 10s, function task_dir announced, actor services
//   > begin
//     publish pending [Received]
//
// Answers ("saved", "start fails io") go to the newest action that waits for one. Whether a hook is
// wanted and what the driver is configured with is answered at once, and not shown.
#pragma once

#include <string>

namespace nomad::test {

/// The transcript with what the machine does now.
std::string replay_task(const std::string& transcript);

}  // namespace nomad::test
