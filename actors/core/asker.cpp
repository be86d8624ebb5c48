#include "actors/core/asker.hpp"

namespace nomad::actor {
namespace {

struct GatewayState {
  static constexpr const char* name = "gateway";
};

Gateway::behavior_type gateway(Gateway::stateful_pointer<GatewayState> self) {
  return {[self](Ask& message) {
    self->ask(
        std::move(message.question),
        [then = std::move(message.then), share = message.share](Mail& reply) { then(reply); },
        [failed = std::move(message.failed), share = message.share](const Error& error) {
          failed(error);
        });
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

void Asker::ask(Ask message) {
  if (gateways_.empty()) return;
  message.share = {open_.get(), [open = open_](const void*) { open->fetch_sub(1); }};
  if (open_->fetch_add(1) >= most_)
    return message.failed(Error{Errc::overloaded, "too many questions are open"});
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
