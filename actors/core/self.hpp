// Self: what an actor's code sees of its own actor. Only that code may use it, in its own turn.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>

#include "actors/core/answer.hpp"
#include "actors/core/handle.hpp"
#include "runtime/base/result.hpp"

namespace nomad::actor {

class CafActor;

/// How long a request waits for its answer.
using Timeout = std::chrono::nanoseconds;

/// For tests, and for questions that the receiver surely answers.
inline constexpr Timeout infinite = Timeout::max();

/// A message to itself that is to come later.
struct Timer {
  std::chrono::steady_clock::time_point due{};
  std::uint64_t number = 0;  ///< 0: none that could be cancelled.

  friend auto operator<=>(const Timer&, const Timer&) = default;
};

/// A question, asked by `then`.
struct Question {
  Ref dest;
  Timeout timeout{0};
  Mail mail;
  Priority priority = Priority::normal;

  using OnReply = std::function<void(Mail&)>;
  using OnError = std::function<void(const Error&)>;
};

/// Calls `function(reply)` with what `mail` holds; a reply of nothing is called without.
template <class Reply, class Function>
Question::OnReply on_reply(Function function) {
  return [function = std::move(function)](Mail& mail) mutable {
    if constexpr (std::is_void_v<Reply>) {
      function();
    } else if (auto* reply = mail.template get<Reply>()) {
      if constexpr (std::is_invocable_v<Function&, Reply&>)
        function(*reply);
      else
        function(std::move(*reply));
    }
  };
}

class Self {
public:
  explicit Self(CafActor& actor) : actor_(actor) {}

  Self(const Self&) = delete;
  Self& operator=(const Self&) = delete;
  virtual ~Self() = default;

  System& system() const;
  std::string_view name() const;
  Ref ref() const;

  /// Of the system's clock, which tests move.
  std::chrono::steady_clock::time_point now() const;

  /// `given` in its first incarnation, something else in each later one (Policy::restart): nothing
  /// that is drawn from it, such as ids, comes twice.
  std::uint64_t seed(std::uint64_t given) const;

  /// Whether it has lost an earlier state (Policy::restart).
  bool began_again() const;

  /// Ends the actor after the present handler. What waits in its mailbox is dropped.
  void quit();
  void quit(const Error& reason);

  template <class Handle, Message M>
  requires Understands<Handle, M>

  void send(const Handle& dest, M&& message) {
    send_mail(dest.ref(), Mail::of(std::forward<M>(message)), Priority::normal);
  }

  /// What `request` gives back: nothing is asked before `then`.
  template <class Reply>
  class [[nodiscard]] Asked {
  public:
    Asked(Self& self, Question question) : self_(self), question_(std::move(question)) {}

    /// One of the two is called, in a later turn of this actor, if it lives: `function(reply)`, or
    /// `failed(error)`: an empty or dead handle is `unavailable`, silence `timeout`.
    template <class Function, class Failed>
    void then(Function function, Failed failed) && {
      self_.ask(std::move(question_), on_reply<Reply>(std::move(function)), std::move(failed));
    }

  private:
    Self& self_;
    Question question_;
  };

  template <class Handle, Message M>
  requires Understands<Handle, M>

  auto request(const Handle& dest,
               Timeout timeout,
               M&& message,
               Priority priority = Priority::normal) {
    return Asked<ReplyOf<Handle, M>>{
        *this, {dest.ref(), timeout, Mail::of(std::forward<M>(message)), priority}};
  }

  /// Lets another actor answer the present question, as urgently as it came.
  template <class Handle, Message M>

  requires Understands<Handle, M> Delegated<ReplyOf<Handle, M>> delegate(const Handle& dest,
                                                                         M&& message) {
    delegate_mail(dest.ref(), Mail::of(std::forward<M>(message)));
    return {};
  }

  /// Takes the duty to answer the present question over from the handler's return.
  template <class Reply>
  Promise<Reply> make_response_promise() {
    return Promise<Reply>{promise_core()};
  }

  void send_mail(const Ref& dest, Mail mail, Priority priority);
  Timer send_mail_after(std::chrono::nanoseconds delay, Mail mail);

  /// Drops the message, if it is still to come.
  void cancel(const Timer& timer);
  void ask(Question question, Question::OnReply then, Question::OnError failed);

  CafActor& caf_actor() const { return actor_; }

private:
  void delegate_mail(const Ref& dest, Mail mail);
  std::shared_ptr<detail::PromiseCore> promise_core();

  CafActor& actor_;
};

template <class Interface>
class TypedSelf : public Self {
public:
  using Handle = Interface;
  using Self::Self;
};

/// With the actor's state, which is made before and destroyed after its behavior.
template <class Interface, class State>
class StatefulSelf final : public TypedSelf<Interface> {
public:
  explicit StatefulSelf(CafActor& actor) : TypedSelf<Interface>(actor), state(made(this)) {}

  State state;

private:
  static State made(TypedSelf<Interface>* self) {
    if constexpr (!std::is_aggregate_v<
                      State> && std::is_constructible_v<State, TypedSelf<Interface>*>)
      return State(self);
    else
      return State();
  }
};

/// Sends ahead of normal messages; see Priority.
template <class SelfPointer, class Handle, Message M>
requires Understands<Handle, M>

void send_urgent(SelfPointer self, const Handle& dest, M&& message) {
  self->send_mail(dest.ref(), Mail::of(std::forward<M>(message)), Priority::urgent);
}

/// Puts `message` behind what waits for `self` already.
template <class Interface, Message M>
void send_self(TypedSelf<Interface>* self, M&& message) {
  static_assert(Understands<Interface, M>, "the actor has no such message");
  self->send_mail(self->ref(), Mail::of(std::forward<M>(message)), Priority::normal);
}

/// Sends `message` to `self` after `delay`. A pending timer keeps the actor alive: an actor that
/// re-arms itself must be stopped explicitly.
template <class Interface, Message M>
Timer send_self_after(TypedSelf<Interface>* self, std::chrono::nanoseconds delay, M&& message) {
  static_assert(Understands<Interface, M>, "the actor has no such message");
  return self->send_mail_after(delay, Mail::of(std::forward<M>(message)));
}

/// Asks actors from a thread that is none and may wait: wiring, tests, benchmarks.
class BlockingAsker {
public:
  explicit BlockingAsker(System& system);
  BlockingAsker(const BlockingAsker&) = delete;
  BlockingAsker& operator=(const BlockingAsker&) = delete;
  ~BlockingAsker();

  template <class Reply>
  class [[nodiscard]] Asked {
  public:
    Asked(BlockingAsker& asker, Question question)
        : asker_(asker), question_(std::move(question)) {}

    /// Waits, and calls one of the two.
    template <class Function, class Failed>
    void receive(Function function, Failed failed) && {
      asker_.ask(std::move(question_), on_reply<Reply>(std::move(function)), std::move(failed));
    }

  private:
    BlockingAsker& asker_;
    Question question_;
  };

  template <class Handle, Message M>
  requires Understands<Handle, M>

  auto request(const Handle& dest, Timeout timeout, M&& message) {
    return Asked<ReplyOf<Handle, M>>{
        *this, {dest.ref(), timeout, Mail::of(std::forward<M>(message)), Priority::normal}};
  }

  /// Returns when the actor has ended.
  void wait_for(const Any& other);

  void ask(Question question, Question::OnReply then, Question::OnError failed);

private:
  struct Core;

  std::unique_ptr<Core> core_;
};

}  // namespace nomad::actor
