#include "actors/raft/applier.hpp"

#include "runtime/base/failpoint.hpp"

namespace nomad::raft {
namespace {

struct ApplierState {
  static constexpr const char* name = "applier";
};

Applier::behavior_type applier_actor(Applier::stateful_pointer<ApplierState>,
                                     std::shared_ptr<Fsm> fsm,
                                     ReadLog read_log) {
  return {
      [read_log
       = std::move(read_log)](const applier::Read& msg) -> actor::Answer<applier::Entries> {
        auto entries = read_log(msg.first, msg.last, msg.max_bytes);
        if (!entries) return actor::answer(Result<applier::Entries>{entries.error()});
        return applier::Entries{std::move(*entries)};
      },
      [fsm](const applier::Apply& msg) {
        return applier::Outcomes{apply_to(*fsm, msg.commands, msg.through)};
      },
      [fsm](applier::Answered) {
        fsm->answered();
        return applier::Done{};
      },
      [fsm](const applier::Install& msg) {
        NOMAD_FAILPOINT("raft.before_restore");
        fsm->install(*msg.state, msg.index);
        NOMAD_FAILPOINT("raft.after_restore");
        fsm->answered();  // nobody waits, and a whole state may be freed
        return applier::Done{};
      },
  };
}

}  // namespace

Applier spawn_applier(const actor::Owner& owner,
                      std::shared_ptr<Fsm> fsm,
                      ReadLog read_log,
                      bool detached) {
  if (detached)
    return actor::spawn_detached(owner, applier_actor, std::move(fsm), std::move(read_log));
  return actor::spawn(owner, applier_actor, std::move(fsm), std::move(read_log));
}

std::vector<Outcome> apply_to(Fsm& fsm, const std::vector<Entry>& commands, Index through) {
  NOMAD_FAILPOINT("raft.before_apply");
  auto outcomes = fsm.apply(commands, through);
  NOMAD_FAILPOINT("raft.after_apply");
  return outcomes;
}

}  // namespace nomad::raft
