// CafActor: the one CAF actor class of the program. It holds the state, the handlers and the
// supervision of any actor, and knows messages as Mail only. Included by this folder's sources
// alone; everybody else knows Self.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>

#include <caf/event_based_actor.hpp>

#include "actors/core/mail.hpp"
#include "actors/core/supervise.hpp"

namespace nomad::actor {

/// Our errors travel as CAF's, with the sentence as their context.
caf::error to_caf(const Error& err);

/// Recovers our error from CAF's; failures of CAF itself become `timeout`, `unavailable` or
/// `internal`. Asking a dead actor and asking an empty handle both are `unavailable`.
Error from_caf(const caf::error& err);

caf::actor as_caf(const Ref& ref);

class CafActor final : public caf::event_based_actor {
public:
  CafActor(caf::actor_config& config, std::unique_ptr<Boot> boot);

  const char* name() const override;
  caf::behavior make_behavior() override;

  /// Frees the state, before the ones who watch hear of the end.
  void on_exit() override;

  Ref ref();

  /// Whether somebody waits for the answer to the present message.
  bool is_question();

  /// Messages to itself that are further away than this wait here and not in CAF's clock, which can
  /// drop none of them and keeps the actor's memory for each, however long ago it has ended.
  static constexpr std::chrono::seconds longest_tick{30};

  /// The timeouts of requests that are longer are cancelled with the answer.
  static constexpr std::chrono::seconds longest_request_timer{10};

  Timer send_after(std::chrono::nanoseconds delay, Mail mail);

  void cancel(const Timer& timer) { waiting_.erase(timer); }

private:
  /// CAF's one timer for what waits here.
  struct Tick {
    using is_message = void;
    std::chrono::steady_clock::time_point at;
  };

  void arm();
  void tick(const Tick& tick);
  caf::result<Mail> take(Mail& mail);
  Handler* find(const std::type_info& type) const;

  const char* name_;
  std::unique_ptr<Boot> boot_;
  Handlers handlers_;
  std::map<Timer, Mail> waiting_;
  std::uint64_t last_timer_ = 0;
  std::optional<std::chrono::steady_clock::time_point> tick_;  ///< Of the Tick that comes next.
};

}  // namespace nomad::actor

template <>
struct caf::allowed_unsafe_message_type<nomad::actor::Mail> : std::true_type {};
