// Newest: how an actor tells another one, again and again, how something is now. One message is on
// its way at a time; what comes until it is taken waits, and only the newest of it. So whoever is
// told has one message in its mailbox of each who tells it, however fast that one changes.
//
// A part of the teller's state, used in its turns; it does not move.
#pragma once

#include <algorithm>
#include <optional>
#include <utility>

#include "actors/core/actor.hpp"

namespace nomad::actor {

template <class Handle, Message M>
class Newest {
public:
  Newest() = default;
  Newest(const Newest&) = delete;
  Newest& operator=(const Newest&) = delete;

  /// As urgently as the most urgent of those that it stands for.
  void tell(Self* self, const Handle& dest, M message, Priority priority = Priority::normal) {
    if (waiting_) priority = std::max(priority, waiting_->priority);
    waiting_.emplace(dest, std::move(message), priority);
    if (!under_way_) go_on(self);
  }

  /// What would go next; null: nothing waits. Valid until the next call.
  const M* waiting() const { return waiting_ ? &waiting_->message : nullptr; }

  /// What waits goes now: by who ends, or says something that comes behind it.
  void flush(Self* self) {
    if (!waiting_) return;
    auto last = std::exchange(waiting_, std::nullopt);
    self->send_mail(last->dest.ref(), Mail::of(std::move(last->message)), last->priority);
  }

private:
  struct Waiting {
    Waiting(const Handle& whom, M what, Priority how)
        : dest(whom), message(std::move(what)), priority(how) {}

    Handle dest;
    M message;
    Priority priority;
  };

  void go_on(Self* self) {
    if (!waiting_) return;
    auto next = std::exchange(waiting_, std::nullopt);
    under_way_ = true;
    const auto taken = [this, self] {
      under_way_ = false;
      go_on(self);
    };
    self->request(next->dest, infinite, std::move(next->message), next->priority)
        .then(taken, [taken](const Error&) { taken(); });
  }

  std::optional<Waiting> waiting_;
  bool under_way_ = false;
};

}  // namespace nomad::actor
