#include "runtime/cluster/setting_commands.hpp"

#include "runtime/object/draft.hpp"

namespace nomad::cluster {

Result<Decision> decide_scheduler_configuration(
    const state::Snapshot& snapshot,
    const access::Asking& asking,
    const Object<schema::SchedulerConfiguration>& configuration,
    std::optional<std::uint64_t> check_index) {
  const auto allowed = NOMAD_TRY(access::authorize(asking, {}));
  if (check_index && snapshot.scheduler_configuration()->getModifyIndex() != *check_index)
    return Decision{allowed};
  Draft<schema::Command> draft;
  draft->setSchedulerConfiguration(*configuration);
  return Decision{allowed, draft.freeze()};
}

Result<Decision> decide_autopilot(const access::Asking& asking,
                                  const Object<schema::AutopilotConfiguration>& configuration,
                                  std::optional<std::uint64_t> check_index) {
  const auto allowed = NOMAD_TRY(access::authorize(asking, {}));
  Draft<schema::Command> draft;
  auto update = draft->initAutopilotUpdate();
  update.setConfiguration(*configuration);
  update.setCheck(check_index.has_value());
  if (check_index) update.getConfiguration().setModifyIndex(*check_index);
  return Decision{allowed, draft.freeze()};
}

}  // namespace nomad::cluster
