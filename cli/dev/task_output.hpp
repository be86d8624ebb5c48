// What tasks write, as `nomadctl dev` shows it: each line behind the name of its task, in a colour
// of its own.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "cli/api.hpp"
#include "cli/dev/dev_session.hpp"

namespace nomad::cli::dev {

/// Cuts what comes in pieces into lines. One without an end is passed on in parts.
class LineSplitter {
public:
  static constexpr std::size_t longest = 4096;

  /// The lines that are whole now, without their ends.
  std::vector<std::string> feed(std::string_view piece);

  /// What is left at the end; "" for nothing.
  std::string rest();

private:
  std::string kept_;
};

/// Prints lines whole, whoever they come from. Any thread.
class DevScreen {
public:
  /// A line of a task: its label in the colour of its number, and its text as it came.
  void task(const std::string& label, std::size_t number, std::string_view line);

  /// A line of the command's own.
  void say(std::string_view text, bool is_wrong);

  /// `printing` writes to stdout, and nobody else does meanwhile.
  void print(const std::function<void()>& printing);

private:
  std::mutex guard_;
  std::size_t widest_ = 0;  ///< Of the labels so far.
};

/// Shows the outputs of tasks, each by two threads, which end with them or with `stop`.
class TaskOutputs {
public:
  /// Outputs that are shown at a time; a task has two.
  static constexpr std::size_t most = 128;

  TaskOutputs(CommonFlags agent, DevScreen& screen) : agent_{std::move(agent)}, screen_{screen} {}

  ~TaskOutputs() { stop(); }

  /// From its beginning on.
  void follow(const Follow& task);

  /// Waits for what is shown to come to its end, for `grace` at most.
  void stop(std::chrono::milliseconds grace = {});

private:
  struct Output {
    std::thread thread;
    std::atomic<bool> is_over = false;
  };

  void show(const Follow& task, const char* type);
  Result<bool> show_once(Api& api, const Follow& task, const char* type);

  CommonFlags agent_;
  DevScreen& screen_;
  std::atomic<bool> is_stopping_ = false;
  std::vector<std::unique_ptr<Output>> outputs_;
};

}  // namespace nomad::cli::dev
