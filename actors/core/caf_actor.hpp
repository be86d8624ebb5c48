// CafActor: the one CAF actor class of the program. It holds the state, the handlers and the
// supervision of any actor, and knows messages as Mail only. Included by this folder's sources
// alone; everybody else knows Self.
#pragma once

#include <array>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <variant>

#include <caf/event_based_actor.hpp>

#include "actors/core/actor_registry.hpp"
#include "actors/core/caf_bridge.hpp"
#include "actors/core/mail.hpp"
#include "actors/core/supervise.hpp"
#include "runtime/base/failpoint.hpp"
#include "runtime/base/turns.hpp"

namespace nomad::actor {

class CafActor final : public caf::event_based_actor {
public:
  /// To an owner from an actor that it does not know yet. An owner that has ended takes nobody, and
  /// nobody else would ever stop the child.
  struct Adopt {
    using is_message = void;

    explicit Adopt(Ref of) : child(std::move(of)) {}

    Adopt(Adopt&&) = default;

    ~Adopt() { stop(child); }

    Ref child;  ///< Whoever adopts it takes it out.
  };

  /// To an actor that nobody owns: from now on this one does.
  struct Belong {
    using is_message = void;
    Ref owner;
  };

  /// From whoever has its Turns.
  struct Turn {
    using is_message = void;
    Turns::Action action;
  };

  /// Beside a Mail: whoever tells it waits until it is taken, to tell the next. It is never
  /// refused, and what it makes its receiver throw is a crash and no bad question.
  struct News {};

  CafActor(caf::actor_config& config, std::unique_ptr<Boot> boot, const Ref& owner);
  ~CafActor() override;

  const char* name() const override;
  caf::behavior make_behavior() override;

  /// Stops what it owns and frees the state, before the ones who watch hear of the end.
  void on_exit() override;

  using caf::event_based_actor::enqueue;
  void enqueue(caf::mailbox_element_ptr element, caf::execution_unit* host) override;
  caf::resumable::resume_result resume(caf::execution_unit* host, std::size_t most) override;
  caf::invoke_message_result consume(caf::mailbox_element& element) override;

  Ref ref();

  /// Whether somebody waits for the answer to the present message.
  bool is_question();

  ActorStats& stats() { return stats_; }

  /// Counts the states that it has had.
  std::uint32_t incarnation() const { return incarnation_; }

  /// Calls `work` of the state of that incarnation, unless there is a newer; what it throws is
  /// dealt with.
  template <class Work>
  void run(std::uint32_t incarnation, Work work);

  /// From now on `child` is its own.
  void adopt(const Ref& child);

  /// Goes on whatever ends: `on_down` hears of it.
  void outlive_children() { outlives_children_ = true; }

  /// The promise to answer the present question: whatever its handler throws is the answer.
  void set_present(std::shared_ptr<detail::PromiseCore> promise) { present_ = std::move(promise); }

  void set_on_down(std::function<void(const Down&)> handler) { on_down_ = std::move(handler); }

  void set_on_exit(std::function<void()> handler) { on_exit_ = std::move(handler); }

  /// What is to come waits here and not in CAF's clock, which knows one moment of an actor, and
  /// forgets it when the actor ends. That is never further away than this: what it is for may be
  /// dropped long before, and it takes more memory there than here.
  static constexpr std::chrono::seconds longest_tick{10};

  /// Beyond so many messages in its mailbox, of either priority, an actor takes no more questions:
  /// whoever asks hears `overloaded` at once. Far above what a healthy agent ever sees; what tells
  /// an actor something without asking has bounds of its own (docs/internals/bounds.md).
  static constexpr std::uint64_t most_waiting = std::uint64_t{1} << 17U;

  Timer send_after(std::chrono::nanoseconds delay, Mail mail) {
    return wait(delay, std::move(mail));
  }

  /// Answers its own request with a timeout, whose handlers are known by `response`.
  Timer time_out_after(std::chrono::nanoseconds delay, caf::message_id response) {
    return wait(delay, response);
  }

  void cancel(const Timer& timer) { waiting_.erase(timer); }

private:
  struct Child {
    WeakRef ref;
    const char* name;
    Policy policy;
  };

  /// To an owner: a child goes on with a new state.
  struct BegunAgain {
    using is_message = void;
    Address child;
    Error reason;
  };

  /// What waits: a message, or the end of a request.
  using Waiting = std::variant<Mail, caf::message_id>;

  /// The last unasked crashes, a ring.
  struct Crashes {
    /// So many within the time it survives.
    static constexpr std::size_t most = 5;
    static constexpr std::chrono::minutes window{1};

    std::array<std::chrono::steady_clock::time_point, most> times;
    std::size_t next = 0;
  };

  bool is_full(std::size_t priority);
  void refuse(caf::mailbox_element& question) const;
  Timer wait(std::chrono::nanoseconds delay, Waiting what);
  void arm();
  void tick();
  caf::result<Mail> take(Mail& mail);
  caf::result<Mail> take_unknown(Mail& mail);
  void fail();
  bool may_begin_again();
  void begin_again(const Error& reason);
  void other_ended(const caf::down_msg& message);
  void tell_of(const Down& down);
  void told_to_exit(caf::exit_msg& message);
  void stop_children();

  ActorStats stats_;
  std::unique_ptr<Boot> boot_;
  Handlers handlers_;
  std::map<Timer, Waiting> waiting_;
  std::uint64_t last_timer_ = 0;
  std::optional<std::chrono::steady_clock::time_point> tick_;  ///< When CAF's clock calls.
  WeakRef owner_;
  std::map<std::uint64_t, Child> children_;  ///< By id, so by age.
  std::function<void(const Down&)> on_down_;
  std::function<void()> on_exit_;
  std::shared_ptr<detail::PromiseCore> present_;
  std::int64_t turn_began_ = 0;  ///< In ticks: where the last message ended.
  std::uint32_t incarnation_ = 1;
  bool leaves_ = false;  ///< It was told to end: it does not begin anew.
  bool killed_ = false;
  bool outlives_children_ = false;
  std::unique_ptr<Crashes> crashes_;  ///< Once there was one.
};

template <class Work>
void CafActor::run(std::uint32_t incarnation, Work work) {
  if (incarnation != incarnation_) return;
  try {
    NOMAD_FAILPOINT_THROW(stats_.name);
    work();
  } catch (...) {
    fail();
  }
}

}  // namespace nomad::actor

template <>
struct caf::allowed_unsafe_message_type<nomad::actor::CafActor::News> : std::true_type {};
