// Reporter: what nomadctl-artifact tells the agent while it works.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "runtime/artifact/protocol/protocol.hpp"

namespace nomad::artifact {

class Reporter {
public:
  /// `socket` stays the caller's.
  explicit Reporter(int socket) : socket_{socket} {}

  void warn(std::string text) const { send(FetchWarning{std::move(text)}); }

  /// More has come. Told once a second at most.
  void received(std::uint64_t bytes);

  /// What is expected of the next file; 0: unknown.
  void expect(std::uint64_t bytes) { expected_ = bytes == 0 ? 0 : received_ + bytes; }

  std::uint64_t received() const { return received_; }

  void finish(const Result<FetchDone>& outcome) const;

private:
  /// The agent is gone if it can't be told: the process ends.
  void send(const FetchReport& report) const;

  int socket_;
  std::uint64_t received_ = 0;
  std::uint64_t expected_ = 0;
  std::chrono::steady_clock::time_point told_ = std::chrono::steady_clock::now();
};

}  // namespace nomad::artifact
