// Wire: the frames of a session: what is told, what is answered, and who waits for which answer.
// Internal to the SDK.
#pragma once

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
      : words_{kj::heapArray<capnp::word>(words.data(), words.size())},
        reader_{words_, capnp::ReaderOptions{.traversalLimitInWords = UINT64_MAX}} {}

  schema::plugin::Frame::Reader root() { return reader_.getRoot<schema::plugin::Frame>(); }

private:
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

class Wire {
public:
  using Fill = std::function<void(schema::plugin::Frame::Builder)>;
  /// Of an answer, which is valid during the call.
  using Answered = std::function<void(const Result<schema::plugin::Frame::Reader>&)>;

  explicit Wire(std::function<void(capnp::MessageBuilder&)> send) : send_{std::move(send)} {}

  void tell(const Fill& fill) { answer(0, fill); }

  void answer(std::uint64_t number, const Fill& fill) {
    capnp::MallocMessageBuilder message;
    auto frame = message.initRoot<schema::plugin::Frame>();
    frame.setNumber(number);
    fill(frame);
    send_(message);
  }

  void done(std::uint64_t number) {
    answer(number, [](schema::plugin::Frame::Builder frame) { frame.setDone(); });
  }

  void failed(std::uint64_t number, const Error& why) {
    answer(number, [&why](schema::plugin::Frame::Builder frame) {
      auto failure = frame.initFailed();
      failure.setCode(static_cast<std::uint8_t>(why.code));
      failure.setMessage(text_of(why.what));
    });
  }

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
  std::function<void(capnp::MessageBuilder&)> send_;
  std::uint64_t last_ = 0;
  std::map<std::uint64_t, Answered> waiting_;
};

}  // namespace nomad::plugin
