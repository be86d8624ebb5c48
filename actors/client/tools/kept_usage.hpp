// What the past of tasks, or of the machine, looks like in the form of the door. Tests:
// tasks/test_usage_history.py.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "actors/roles/node_questions.hpp"
#include "runtime/object/alloc_view.hpp"
#include "runtime/workload/event_time.hpp"
#include "runtime/workload/usage/usage_advice.hpp"
#include "runtime/workload/usage/usage_history.hpp"

namespace nomad::client {

struct KeptUsage {
  std::string task;                                     ///< "" of the machine.
  std::shared_ptr<const workload::UsageHistory> usage;  ///< Null: nothing is known.
  workload::Reservation reserved{};
};

/// Processor time of a task with processors of its own is nothing to compare with.
workload::Reservation reservation_of(AllocView alloc, std::string_view task);

/// With what to reserve instead. Times of the histories become Unix times by the two clocks of
/// `now`.
door::NodeReply history_reply(const std::vector<KeptUsage>& kept, workload::EventTime now);

}  // namespace nomad::client
