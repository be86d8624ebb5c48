// Questions of the agent's as their authors see them: answered once, by a frame. Internal to the
// SDK.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "runtime/plugin/sdk/kinds.hpp"
#include "runtime/plugin/sdk/wire.hpp"

namespace nomad::plugin {

/// A question that is open. One that nobody keeps any more fails.
class OpenQuestion {
public:
  OpenQuestion(const Answerer& to, std::uint64_t number, const char* who)
      : answerer_{to}, number_{number}, who_{who} {}

  OpenQuestion(const OpenQuestion&) = delete;
  OpenQuestion& operator=(const OpenQuestion&) = delete;

  ~OpenQuestion() {
    if (open_)
      answerer_.failed(number_, {Errc::internal, std::string{who_} + " dropped the question"});
  }

  /// The first one counts.
  template <class Outcome, class Fill>
  void settle(const Outcome& outcome, const Fill& fill) {
    if (!std::exchange(open_, false)) return;
    if (outcome)
      answerer_.answer(number_, fill);
    else
      answerer_.failed(number_, outcome.error());
  }

private:
  Answerer answerer_;
  std::uint64_t number_;
  const char* who_;
  bool open_ = true;
};

/// A question that is answered by what `fill(frame, value)` makes of the value.
template <class Value, class Fill>
Reply<Value> reply_to(const Answerer& to, std::uint64_t number, const char* who, Fill fill) {
  const auto question = std::make_shared<OpenQuestion>(to, number, who);
  return Reply<Value>{[question, fill](const Result<Value>& outcome) {
    question->settle(outcome, [&](schema::plugin::Frame::Builder frame) { fill(frame, *outcome); });
  }};
}

/// One that is answered by `done`.
inline DoneReply done_reply(const Answerer& to, std::uint64_t number, const char* who) {
  const auto question = std::make_shared<OpenQuestion>(to, number, who);
  return DoneReply{[question](const Result<>& outcome) {
    question->settle(outcome, [](schema::plugin::Frame::Builder frame) { frame.setDone(); });
  }};
}

}  // namespace nomad::plugin
