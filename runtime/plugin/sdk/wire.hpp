// Wire: the frames of a session: what is told, what is answered, and who waits for which answer.
// Internal to the SDK.
#pragma once

#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <capnp/message.h>
#include <capnp/serialize.h>
#include <kj/array.h>

#include "runtime/base/result.hpp"
#include "schema/plugin_link.capnp.h"

namespace nomad::plugin {

/// A frame of the agent's with the memory that it stands in.
class FrameMessage {
public:
  explicit FrameMessage(std::span<const capnp::word> words)
      : words_{kj::heapArray<capnp::word>(words.size())},
        reader_{copied(words), capnp::ReaderOptions{.traversalLimitInWords = UINT64_MAX}} {}

  schema::plugin::Frame::Reader root() { return reader_.getRoot<schema::plugin::Frame>(); }

private:
  kj::ArrayPtr<const capnp::word> copied(std::span<const capnp::word> words) {
    if (!words.empty()) std::memcpy(words_.begin(), words.data(), words.size_bytes());
    return words_;
  }

  kj::Array<capnp::word> words_;
  capnp::FlatArrayMessageReader reader_;
};

using FrameWords = std::shared_ptr<FrameMessage>;

/// An empty `value` is a text, too.
inline capnp::Text::Reader text_of(const std::string& value) {
  return {value.c_str(), value.size()};
}

/// `to` has as many elements.
template <class Entries>
void fill_entries(Entries to, const std::map<std::string, std::string>& from) {
  unsigned i = 0;
  for (const auto& [key, value] : from) {
    to[i].setKey(text_of(key));
    to[i++].setValue(text_of(value));
  }
}

/// Sends answers. Authors may keep a question longer than its session lives: what is answered then
/// goes nowhere.
class Answerer {
public:
  using Send = std::function<void(capnp::MessageBuilder&)>;
  using Fill = std::function<void(schema::plugin::Frame::Builder)>;

  explicit Answerer(Send send) : send_{std::make_shared<Send>(std::move(send))} {}

  void answer(std::uint64_t number, const Fill& fill) const {
    if (!*send_) return;
    capnp::MallocMessageBuilder message;
    auto frame = message.initRoot<schema::plugin::Frame>();
    frame.setNumber(number);
    fill(frame);
    (*send_)(message);
  }

  void done(std::uint64_t number) const {
    answer(number, [](schema::plugin::Frame::Builder frame) { frame.setDone(); });
  }

  void failed(std::uint64_t number, const Error& why) const {
    answer(number, [&why](schema::plugin::Frame::Builder frame) {
      auto failure = frame.initFailed();
      failure.setCode(static_cast<std::uint8_t>(why.code));
      failure.setMessage(text_of(why.what));
    });
  }

protected:
  std::shared_ptr<Send> send_;  ///< Nothing: the session is over.
};

class Wire : public Answerer {
public:
  /// Of an answer, which is valid during the call.
  using Answered = std::function<void(const Result<schema::plugin::Frame::Reader>&)>;

  using Answerer::Answerer;
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;

  ~Wire() { *send_ = {}; }

  void tell(const Fill& fill) const { answer(0, fill); }

  /// Returns the question's number.
  std::uint64_t ask(const Fill& fill, Answered then) {
    const auto number = ++last_;
    waiting_[number] = std::move(then);
    answer(number, fill);
    return number;
  }

  void answered(schema::plugin::Frame::Reader frame) {
    const auto waiting = waiting_.extract(frame.getNumber());
    if (waiting.empty() || !waiting.mapped()) return;
    if (!frame.isFailed()) return waiting.mapped()(frame);
    const auto failure = frame.getFailed();
    const auto code = failure.getCode();
    waiting.mapped()(Error{
        code == 0 || code > static_cast<std::uint8_t>(last_errc) ? Errc::internal : Errc{code},
        {failure.getMessage().begin(), failure.getMessage().size()}});
  }

private:
  std::uint64_t last_ = 0;
  std::map<std::uint64_t, Answered> waiting_;
};

}  // namespace nomad::plugin
