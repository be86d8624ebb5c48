// Newest: how an actor tells another one, again and again, how something is now. One message is on
// its way at a time; what comes until it is taken waits, and only the newest of it. So whoever is
// told has one message in its mailbox of each who tells it, however fast that one changes; and
// beside a normal one at most one that is urgent, which overtakes it: such messages carry a number.
// A message that has `stand_for` takes over what it needs of the one whose place it takes.
//
// A part of the teller's state, used in its turns. What waits is dropped with it, unless `flush` is
// called before.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "actors/core/actor.hpp"

namespace nomad::actor {

namespace detail {

void tell_news(
    Self* self, const Ref& dest, Mail mail, Priority priority, const std::function<void()>& taken);

}  // namespace detail

/// Calls `taken` when `message` has been taken, or never will be: by then the teller may have
/// another. Nobody refuses it, however much he has to do: so a teller has few under way.
template <class Handle, Message M>
requires Understands<Handle, M> && std::is_void_v<ReplyOf<Handle, M>>

void tell_news(Self* self,
               const Handle& dest,
               M message,
               Priority priority,
               const std::function<void()>& taken) {
  detail::tell_news(self, dest.ref(), Mail::of(std::move(message)), priority, taken);
}

template <class Handle, Message M>
class Newest {
public:
  /// As urgently as the most urgent of those that it stands for.
  void tell(Self* self, const Handle& dest, M message, Priority priority = Priority::normal) {
    auto& waiting = core_->waiting;
    if (waiting) {
      priority = std::max(priority, waiting->priority);
      if constexpr (requires { message.stand_for(std::move(waiting->message)); })
        message.stand_for(std::move(waiting->message));
    }
    waiting.emplace(dest, std::move(message), priority);
    go_on(self, core_);
  }

  /// What waits will never go: something else has told it.
  void drop() { core_->waiting.reset(); }

  /// What waits goes now: by who ends, or says something that comes behind it.
  void flush(Self* self) {
    auto last = std::exchange(core_->waiting, std::nullopt);
    if (last) self->send_mail(last->dest.ref(), Mail::of(std::move(last->message)), last->priority);
  }

private:
  struct Waiting {
    Waiting(const Handle& whom, M what, Priority how)
        : dest(whom), message(std::move(what)), priority(how) {}

    Handle dest;
    M message;
    Priority priority;
  };

  struct Core {
    std::optional<Waiting> waiting;
    bool normal_under_way = false;
    bool urgent_under_way = false;

    bool may_go_on() const {
      return waiting && !urgent_under_way
             && (!normal_under_way || waiting->priority == Priority::urgent);
    }

    bool& under_way(Priority priority) {
      return priority == Priority::urgent ? urgent_under_way : normal_under_way;
    }
  };

  static void go_on(Self* self, const std::shared_ptr<Core>& core) {
    if (!core->may_go_on()) return;
    auto next = std::exchange(core->waiting, std::nullopt);
    core->under_way(next->priority) = true;
    const auto taken = [self, weak = std::weak_ptr{core}, priority = next->priority] {
      const auto known = weak.lock();
      if (!known) return;
      known->under_way(priority) = false;
      go_on(self, known);
    };
    tell_news(self, next->dest, std::move(next->message), next->priority, taken);
  }

  std::shared_ptr<Core> core_ = std::make_shared<Core>();
};

}  // namespace nomad::actor
