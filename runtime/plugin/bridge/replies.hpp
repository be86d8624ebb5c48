// Answers of a driver's, filled.
#pragma once

#include "runtime/plugin/bridge/remote.hpp"
#include "runtime/plugin/sdk/kinds.hpp"
#include "runtime/plugin/sdk/wire.hpp"

namespace nomad::plugin::bridge {

inline void set_duration(google::protobuf::Duration& to, Nanoseconds from) {
  to.set_seconds(from.count() / 1'000'000'000);
  to.set_nanos(static_cast<int>(from.count() % 1'000'000'000));
}

/// For AnswerStream: no more than a hundred answers a second.
inline std::function<void(std::function<void()>)> unhurried(Agent& agent) {
  return [&agent](std::function<void()> read) {
    agent.after(std::chrono::milliseconds{10}, std::move(read));
  };
}

inline void refuse(const DriverReply& reply, const Refusal& why) {
  reply(FillAnswer{[&why](schema::plugin::DriverAnswer::Builder to) {
    auto failure = to.initFailed();
    failure.setCode(static_cast<std::uint8_t>(why.error.code));
    failure.setMessage(text_of(why.error.what));
    failure.setRecoverable(why.recoverable);
  }});
}

inline void reject(const DriverReply& reply, const Error& why, bool recoverable = false) {
  refuse(reply, Refusal{why, recoverable});
}

inline void answer_done(const DriverReply& reply) {
  reply(FillAnswer{[](schema::plugin::DriverAnswer::Builder to) { to.setDone(); }});
}

}  // namespace nomad::plugin::bridge
