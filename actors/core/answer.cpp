#include "actors/core/answer.hpp"

#include <memory>
#include <utility>

#include <caf/response_promise.hpp>

#include "actors/core/caf_actor.hpp"
#include "actors/core/caf_bridge.hpp"
#include "actors/core/self.hpp"

namespace nomad::actor {

namespace detail {

class PromiseCore {
public:
  explicit PromiseCore(caf::response_promise promise) : promise_(std::move(promise)) {}

  PromiseCore(const PromiseCore&) = delete;
  PromiseCore& operator=(const PromiseCore&) = delete;

  /// Who waits shall not wait for ever. On any thread, so without the actor's own execution unit.
  ~PromiseCore() {
    if (!promise_.pending()) return;
    const auto next = promise_.next();
    next->enqueue(caf::make_mailbox_element(
                      caf::strong_actor_ptr{}, promise_.id().response_id(), promise_.stages(),
                      to_caf({Errc::unavailable, "the actor ended before it answered"})),
                  nullptr);
  }

  bool is_open() const { return promise_.pending(); }

  void keep(Outcome outcome) {
    if (!promise_.pending()) return;
    if (outcome.error)
      promise_.deliver(to_caf(*outcome.error));
    else
      promise_.deliver(std::move(outcome.reply));
  }

private:
  caf::response_promise promise_;
};

void keep(const std::shared_ptr<PromiseCore>& core, Outcome outcome) {
  if (core) core->keep(std::move(outcome));
}

bool is_open(const std::shared_ptr<PromiseCore>& core) {
  return core && core->is_open();
}

}  // namespace detail

std::shared_ptr<detail::PromiseCore> Self::promise_core() {
  if (!actor_.is_question()) return nullptr;
  auto core = std::make_shared<detail::PromiseCore>(actor_.make_response_promise());
  actor_.set_present(core);
  return core;
}

}  // namespace nomad::actor
