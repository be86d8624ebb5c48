// GoProgram: the process of a plugin of Nomad's: started with what go-plugin's programs look for in
// their environment, its handshake, what it writes, and its end. It is killed when this process
// ends, however that comes; what it has started for its tasks is not.
//
// Threads: `start` is called before there are others, for the kernel ends the program with the
// thread that started it. `watch` begins one of its own, which calls what it was given.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <sys/types.h>

#include "runtime/host/process/unique_fd.hpp"
#include "runtime/plugin/bridge/handshake.hpp"
#include "runtime/plugin/bridge/log_lines.hpp"

namespace nomad::plugin::bridge {

class GoProgram {
public:
  struct Heard {
    std::function<void(LogLine line)> line;
    /// Once: "killed by signal 9". Nothing follows.
    std::function<void(const std::string& how)> ended;
  };

  /// `words`: the program's path and its arguments. Lines that it writes before it is watched are
  /// given to `watch`. The error says why it is no plugin; it is gone then.
  static Result<std::unique_ptr<GoProgram>> start(const std::vector<std::string>& words,
                                                  std::chrono::milliseconds patience);

  ~GoProgram();
  GoProgram(const GoProgram&) = delete;
  GoProgram& operator=(const GoProgram&) = delete;

  const Handshake& handshake() const { return handshake_; }

  void watch(Heard heard);

  void kill() const;

  /// It has been told to end: false if it has not within `patience`.
  bool wait(std::chrono::milliseconds patience) const;

private:
  struct Output {
    host::UniqueFd descriptor{};
    std::string rest{};  ///< Of a line whose end has not come.
  };

  GoProgram() = default;

  Result<> spawn(const std::vector<std::string>& words);
  Result<> shake_hands(std::chrono::milliseconds patience);
  bool read(Output& from, std::vector<std::string>& lines) const;
  std::string reap() const;
  void listen(const Heard& heard);
  std::string last_words();

  pid_t pid_ = 0;
  host::UniqueFd process_;  ///< A pidfd.
  Output output_, errors_;
  Handshake handshake_;
  std::vector<std::string> early_;  ///< Lines.
};

}  // namespace nomad::plugin::bridge
