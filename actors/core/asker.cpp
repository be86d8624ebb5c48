#include "actors/core/asker.hpp"

namespace nomad::actor {
namespace {

struct GatewayState {
  static constexpr const char* name = "gateway";
};

Gateway::behavior_type gateway(Gateway::stateful_pointer<GatewayState> self) {
  return {[self](Ask& message) {
    self->ask(std::move(message.question), std::move(message.then), std::move(message.failed));
  }};
}

}  // namespace

Asker::Asker(const Owner& owner, unsigned gateways) {
  for (unsigned i = 0; i < gateways; ++i)
    gateways_.push_back(spawn<Policy::restart>(owner, gateway));
}

Asker::~Asker() {
  stop();
}

void Asker::ask(Ask message) {
  if (gateways_.empty()) return;
  const auto& gateway = gateways_[next_++ % gateways_.size()];
  if (message.question.priority == Priority::urgent)
    tell_urgent(gateway, std::move(message));
  else
    tell(gateway, std::move(message));
}

void Asker::stop() {
  for (const auto& gateway : gateways_)
    actor::stop(gateway);
}

}  // namespace nomad::actor
