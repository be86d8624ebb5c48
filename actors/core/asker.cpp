#include "actors/core/asker.hpp"

#include "actors/core/supervise.hpp"

namespace nomad::actor {
namespace {

struct GatewayState {
  static constexpr const char* name = "gateway";
};

Gateway::behavior_type gateway_actor(Gateway::stateful_pointer<GatewayState> self) {
  return {[self](const gateway::Run& message) { message.action(self); }};
}

}  // namespace

Asker::Asker(caf::actor_system& system, unsigned gateways) {
  for (unsigned i = 0; i < gateways; ++i)
    gateways_.push_back(spawn(system, gateway_actor));
}

Asker::~Asker() {
  stop();
}

void Asker::run(std::function<void(Gateway::base*)> action) {
  if (gateways_.empty()) return;
  const auto& gateway = gateways_[next_++ % gateways_.size()];
  tell(gateway, gateway::Run{std::move(action)});
}

void Asker::stop() {
  for (const auto& gateway : gateways_)
    actor::stop(gateway);
}

}  // namespace nomad::actor
