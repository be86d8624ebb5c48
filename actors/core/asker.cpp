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

Asker::Asker(const Owner& owner, unsigned gateways, std::size_t most) : most_{most} {
  for (unsigned i = 0; i < gateways; ++i)
    gateways_.push_back(spawn<Policy::restart>(owner, gateway));
}

Asker::~Asker() {
  stop();
}

std::shared_ptr<const void> Asker::enter() {
  std::shared_ptr<const void> share{open_.get(),
                                    [open = open_](const void*) { open->fetch_sub(1); }};
  return open_->fetch_add(1) < most_ ? share : nullptr;
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
