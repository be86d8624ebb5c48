// PluginLife: one process of a plugin after the other: which one it is, that it was ended and why,
// and what became of it. Part of the PluginLink. No clock.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "actors/plugin/body/plugin_peer.hpp"

namespace nomad::plugin {

class PluginLife {
public:
  using Time = std::chrono::nanoseconds;

  /// Another process begins. Its number tells what is about it from what was about earlier ones.
  void begin(std::uint64_t number, Time now);

  void take(std::unique_ptr<PluginPeer> peer) { peer_ = std::move(peer); }

  const std::uint64_t& number() const { return number_; }

  bool is(std::uint64_t number) const { return number == number_; }

  /// It has not been seen to end.
  bool runs() const { return peer_ && !end_; }

  /// It runs, and was not killed: what it says counts.
  bool is_heard() const { return runs() && fault_.empty(); }

  /// It is there, or not reaped yet.
  bool is_there() const { return peer_ != nullptr; }

  PluginPeer* peer() { return peer_.get(); }

  Time lived(Time now) const { return now - since_; }

  /// It has written a line, which often is why it ended.
  void wrote(std::string line) { last_line_ = std::move(line); }

  /// It is killed; its end follows. The first reason counts.
  void kill(const std::string& why);

  /// It has hung up. False: that is known.
  bool ended(const Error& why, Time now);

  /// Why it ended, and what became of it, once, and then it is gone; nothing: not yet. One that
  /// does not end by itself is killed.
  std::optional<std::string> reap(Time now);

private:
  std::uint64_t number_ = 0;
  Time since_{0};
  Time ended_at_{0};
  std::unique_ptr<PluginPeer> peer_;
  std::optional<Error> end_;
  std::string fault_;  ///< Why it was killed.
  std::string last_line_;
};

}  // namespace nomad::plugin
