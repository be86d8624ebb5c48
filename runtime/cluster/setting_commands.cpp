#include "runtime/cluster/setting_commands.hpp"

#include "runtime/object/draft.hpp"

namespace nomad::cluster {

Result<Decision> decide_scheduler_configuration(
    const state::Snapshot& snapshot,
    const Object<schema::SchedulerConfiguration>& configuration,
    std::optional<std::uint64_t> check_index) {
  if (check_index && snapshot.scheduler_configuration()->getModifyIndex() != *check_index)
    return Decision{};
  Draft<schema::Command> draft;
  draft->setSchedulerConfiguration(*configuration);
  Decision decision;
  decision.command = draft.freeze();
  return decision;
}

Object<schema::Command> set_autopilot(const Object<schema::AutopilotConfiguration>& configuration,
                                      std::optional<std::uint64_t> check_index) {
  Draft<schema::Command> draft;
  auto update = draft->initAutopilotUpdate();
  update.setConfiguration(*configuration);
  update.setCheck(check_index.has_value());
  if (check_index) update.getConfiguration().setModifyIndex(*check_index);
  return draft.freeze();
}

}  // namespace nomad::cluster
