#include "actors/server/leader.hpp"

#include <vector>

#include "actors/core/supervise.hpp"
#include "runtime/base/log.hpp"

namespace nomad::server {
namespace {

struct LeaderState {
  static constexpr const char* name = "leader";

  std::vector<LeaderDuty> duties;
  bool leads = false;
};

using LeaderPointer = Leader::stateful_pointer<LeaderState>;

Leader::behavior_type leader(LeaderPointer self) {
  return {
      [self](const raft::LeadershipChanged& msg) {
        auto& state = self->state;
        if (msg.ready == state.leads) return;
        state.leads = msg.ready;
        log::info("leader", "{} leadership of term {}", msg.ready ? "gained" : "lost", msg.term);
        for (const auto& duty : state.duties)
          actor::send_urgent(self, duty, Lead{state.leads});
      },
      [self](const AddDuty& msg) {
        self->state.duties.push_back(msg.duty);
        actor::send_urgent(self, msg.duty, Lead{self->state.leads});
      },
      [self](const StateReplaced&) {
        auto& state = self->state;
        if (!state.leads) return;
        log::info("leader", "the state was replaced: everything that derives from it begins anew");
        for (const bool leads : {false, true})
          for (const auto& duty : state.duties)
            actor::send_urgent(self, duty, Lead{leads});
      },
  };
}

}  // namespace

Leader spawn_leader(actor::System& system) {
  return actor::spawn(system, leader);
}

}  // namespace nomad::server
