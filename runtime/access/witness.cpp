#include "runtime/access/witness.hpp"

namespace nomad::access {

void Witness::note(Capability needed, const Target& target, bool is_allowed) {
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

std::optional<Witness::Judgement> Witness::first_allowed() const {
  const std::lock_guard lock{guard_};
  return allowed_;
}

std::optional<Witness::Judgement> Witness::last_refused() const {
  const std::lock_guard lock{guard_};
  return refused_;
}

}  // namespace nomad::access
