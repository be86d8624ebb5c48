// A command run beside a task (`alloc exec`), with what it told collected for waiting on it.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "executor_harness.hpp"
#include "runtime/host/exec_pump.hpp"

namespace nomad::host {

class RunningCommand {
public:
  /// Starts at once. With `acknowledge` false, `take` says when output has been used.
  explicit RunningCommand(std::shared_ptr<ExecSession> session, bool acknowledge = true)
      : session_(std::move(session)) {
    session_->start(events(acknowledge));
  }

  ExecSession& session() { return *session_; }

  /// Lets go of the session.
  void abandon() { session_.reset(); }

  std::string out() {
    std::lock_guard lock{heard_->mutex};
    return heard_->out;
  }

  std::size_t out_size() {
    std::lock_guard lock{heard_->mutex};
    return heard_->out.size();
  }

  std::string err() {
    std::lock_guard lock{heard_->mutex};
    return heard_->err;
  }

  /// Waits until all of `text` has come, somewhere in the output.
  bool prints(const std::string& text) {
    return wait([&] { return heard_->out.find(text) != std::string::npos; });
  }

  /// Waits until so much output has come; whether it has.
  bool prints(std::size_t size, test::Patience within = test::patience) {
    return wait([&] { return heard_->out.size() >= size; }, within);
  }

  ExecResult exited() {
    if (!wait([&] { return heard_->exit.has_value(); }))
      throw std::runtime_error{"the command did not end in 30 s"};
    std::lock_guard lock{heard_->mutex};
    return *heard_->exit;
  }

  bool has_exited() {
    std::lock_guard lock{heard_->mutex};
    return heard_->exit.has_value();
  }

  int ends_of_out() {
    std::lock_guard lock{heard_->mutex};
    return heard_->out_ends;
  }

  int ends_of_err() {
    std::lock_guard lock{heard_->mutex};
    return heard_->err_ends;
  }

  /// Writes all of it, waiting whenever the session refuses.
  void write(const std::string& text, std::size_t piece) {
    for (std::size_t at = 0; at < text.size();) {
      int before = writables();
      if (session_->write_input(std::string_view{text}.substr(at, piece))) {
        at += piece;
        continue;
      }
      ++refusals_;
      if (!wait([&] { return heard_->writables > before; }))
        throw std::runtime_error{"the session never took input again"};
    }
  }

  int refusals() const { return refusals_; }

private:
  struct Heard {
    std::mutex mutex;
    std::condition_variable changed;
    std::string out, err;
    int out_ends = 0, err_ends = 0, writables = 0;
    std::optional<ExecResult> exit;
  };

  int writables() {
    std::lock_guard lock{heard_->mutex};
    return heard_->writables;
  }

  ExecEvents events(bool acknowledge) {
    ExecEvents events;
    std::weak_ptr<ExecSession> session = session_;
    events.output
        = [heard = heard_, session, acknowledge](ExecEvents::Output which, std::string_view bytes) {
            {
              std::lock_guard lock{heard->mutex};
              if (heard->exit) std::abort();  // nothing is told after the end
              (which == ExecEvents::Output::out ? heard->out : heard->err) += bytes;
              if (bytes.empty())
                ++(which == ExecEvents::Output::out ? heard->out_ends : heard->err_ends);
            }
            heard->changed.notify_all();
            auto held = acknowledge ? session.lock() : nullptr;
            if (held) held->taken(bytes.size());
          };
    events.writable = [heard = heard_] {
      std::lock_guard lock{heard->mutex};
      ++heard->writables;
      heard->changed.notify_all();
    };
    events.exited = [heard = heard_](ExecResult result) {
      std::lock_guard lock{heard->mutex};
      if (heard->exit) std::abort();
      heard->exit = std::move(result);
      heard->changed.notify_all();
    };
    return events;
  }

  template <class Condition>
  bool wait(Condition condition, test::Patience within = test::patience) {
    std::unique_lock lock{heard_->mutex};
    return heard_->changed.wait_for(lock, within, condition);
  }

  std::shared_ptr<Heard> heard_ = std::make_shared<Heard>();
  std::shared_ptr<ExecSession> session_;
  int refusals_ = 0;
};

/// Asks for a command beside the task `key`, in "/".
inline Result<std::shared_ptr<ExecSession>> exec(Executors& executors,
                                                 const std::string& key,
                                                 std::vector<std::string> words,
                                                 bool tty = false,
                                                 const std::string& directory = "/") {
  std::mutex mutex;
  std::condition_variable changed;
  std::optional<Result<std::vector<UniqueFd>>> answer;
  executors.client().exec(key, {.command = std::move(words), .tty = tty}, directory,
                          [&](Result<std::vector<UniqueFd>> result) {
                            std::lock_guard lock{mutex};
                            answer = std::move(result);
                            changed.notify_all();
                          });
  std::unique_lock lock{mutex};
  if (!changed.wait_for(lock, std::chrono::seconds{30}, [&] { return answer.has_value(); }))
    std::abort();  // the callback refers to this frame
  if (!*answer) return answer->error();
  return executors.pump().adopt(NOMAD_TRY(ends_of(std::move(**answer))));
}

}  // namespace nomad::host
