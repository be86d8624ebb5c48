#include "actors/plugin/questions.hpp"

#include <utility>

#include "runtime/object/draft.hpp"
#include "runtime/plugin/said.hpp"

namespace nomad::plugin {

using Message = schema::plugin::Frame;

std::uint64_t Questions::ask(const Fill& fill, Then then, Failed failed) {
  const auto number = ++last_;
  open_.emplace(number, Open{std::move(then), std::move(failed)});
  const auto sent = send_([&](Message::Builder frame) {
    frame.setNumber(number);
    fill(frame);
  });
  if (!sent) fail(number, sent.error());
  return number;
}

void Questions::fail(std::uint64_t number, const Error& why) {
  if (const auto question = open_.extract(number); !question.empty()) question.mapped().failed(why);
}

void Questions::refuse(std::uint64_t number, const Error& why) const {
  send([&](Message::Builder frame) {
    frame.setNumber(number);
    auto failure = frame.initFailed();
    failure.setCode(static_cast<std::uint8_t>(why.code));
    failure.setMessage(text(why.what));
  });
}

bool Questions::awaits(Message::Reader frame) const {
  return is_answer(frame) && is_open(frame.getNumber());
}

bool Questions::answer(Message::Reader frame) {
  if (!awaits(frame)) return false;
  const auto question = open_.extract(frame.getNumber());
  if (!frame.isFailed()) {
    question.mapped().then(frame);
    return true;
  }
  const auto failure = frame.getFailed();
  const auto code = failure.getCode();
  const bool is_known = code != 0 && code <= static_cast<std::uint8_t>(last_errc);
  question.mapped().failed(
      {is_known ? Errc{code} : Errc::internal, said(view(failure.getMessage()))});
  return true;
}

void Questions::end(const Error& why) {
  for (const auto& [number, question] : std::exchange(open_, {}))
    question.failed(why);
}

}  // namespace nomad::plugin
