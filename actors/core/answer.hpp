// Answers: what handlers give back, at once (Answer) or later (Promise).
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "actors/core/mail.hpp"
#include "runtime/base/result.hpp"

namespace nomad::actor {

/// What a handler has come to, whatever its type.
struct Outcome {
  Mail reply;
  std::optional<Error> error;
  bool later = false;  ///< A promise, or another actor, answers.
};

/// The question was handed on; the other actor answers it.
template <class Reply>
struct Delegated {};

namespace detail {

class PromiseCore;

/// Answers through `core`, once; null is fine.
void keep(const std::shared_ptr<PromiseCore>& core, Outcome outcome);
bool is_open(const std::shared_ptr<PromiseCore>& core);

template <class Reply>
Outcome outcome_of(Reply&& reply) {
  return {.reply = Mail::of(std::forward<Reply>(reply)), .error = {}, .later = false};
}

}  // namespace detail

/// The answer a handler owes; kept in the state and answered in one place, on every path. Copies
/// are the same promise. Only the actor that made it may answer. A default one owes nothing.
template <class Reply>
class Promise {
public:
  Promise() = default;

  explicit Promise(std::shared_ptr<detail::PromiseCore> core) : core_(std::move(core)) {}

  /// Whether somebody waits for it.
  bool pending() const { return detail::is_open(core_); }

  void deliver(Reply reply) const { detail::keep(core_, detail::outcome_of(std::move(reply))); }

  void deliver(Error error) const {
    detail::keep(core_, {.reply = {}, .error = std::move(error), .later = false});
  }

private:
  std::shared_ptr<detail::PromiseCore> core_;
};

/// What a handler returns: a reply, an error, or the word that the answer comes later.
template <class Reply>
class [[nodiscard]] Answer {
public:
  Answer(Reply reply) : outcome_(detail::outcome_of(std::move(reply))) {}

  Answer(Error error) : outcome_{.reply = {}, .error = std::move(error), .later = false} {}

  Answer(const Promise<Reply>&) : outcome_{.reply = {}, .error = {}, .later = true} {}

  Answer(Delegated<Reply>) : outcome_{.reply = {}, .error = {}, .later = true} {}

  Outcome release() && { return std::move(outcome_); }

private:
  Outcome outcome_;
};

/// Turns a `Result` into what a message handler returns.
template <class T>
Answer<T> answer(Result<T> outcome) {
  if (!outcome) return outcome.error();
  return std::move(*outcome);
}

/// Answers a kept promise with a `Result`.
template <class T>
void answer(const Promise<T>& promise, Result<T> outcome) {
  if (!promise.pending()) return;
  if (outcome)
    promise.deliver(std::move(*outcome));
  else
    promise.deliver(outcome.error());
}

}  // namespace nomad::actor
