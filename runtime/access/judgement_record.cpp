#include "runtime/access/judgement_record.hpp"

namespace nomad::access {

void JudgementRecord::note(Capability needed, const Target& target, bool is_allowed) {
  const std::lock_guard lock{guard_};
  if (is_allowed && allowed_) return;
  auto& kept = is_allowed ? allowed_ : refused_;
  kept = Judgement{needed,
                   std::string{target.ns},
                   std::string{target.path},
                   std::string{target.node_pool},
                   std::string{target.node},
                   std::string{target.host_volume},
                   std::string{target.plugin}};
}

std::optional<JudgementRecord::Judgement> JudgementRecord::first_allowed() const {
  const std::lock_guard lock{guard_};
  return allowed_;
}

std::optional<JudgementRecord::Judgement> JudgementRecord::last_refused() const {
  const std::lock_guard lock{guard_};
  return refused_;
}

}  // namespace nomad::access
