// The loop behind ExecutorClient: one thread, one epoll, one small state machine per task.
//
//   looking ─alive─▶ greeting ─▶ starting ─▶ running ─exited─▶ ended ─acknowledge─▶ leaving
//      │ dead            │ welcome says what runs ─▶ running / ended                   │
//      ├──▶ ended (status in the file)                                               (gone)
//      └──▶ clearing ─▶ (gone), or launch and greeting                                 ▼
//   a connection that breaks leads from any state back to looking ◀────────────────────┘
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "runtime/host/executor/protocol.hpp"
#include "runtime/host/executor_client.hpp"
#include "runtime/host/found_executor.hpp"

namespace nomad::host {

/// Whether a program could be given only the beginning of one of `words`.
inline bool has_null(const std::vector<std::string>& words) {
  return std::any_of(words.begin(), words.end(),
                     [](const std::string& word) { return word.find('\0') != std::string::npos; });
}

inline Error null_error() {
  return {Errc::invalid_argument,
          "there is a null character in the command, its arguments or its environment"};
}

class ExecutorClient::Loop {
public:
  using Clock = std::chrono::steady_clock;

  Loop(Options options, Cgroups cgroups, UniqueFd state_directory, UniqueFd epoll, UniqueFd wake);
  ~Loop();

  void run_thread();

  /// Enqueues work for the thread.
  void post(std::function<void()> work);

  void start(std::string key, TaskCommand command, TaskListener listener);
  void attach(std::string key, std::string run_id, TaskListener listener);
  void signal(const std::string& key, int number, ExecutorDone done);
  void stop(const std::string& key, int number, std::chrono::milliseconds grace, ExecutorDone done);
  void exec(const std::string& key,
            const ExecCommand& command,
            const std::string& directory,
            const ExecReady& ready);
  void acknowledge(const std::string& key, ExecutorDone done);
  void purge(std::string key, ExecutorDone done);

  const Options& options() const { return options_; }

  const Cgroups& cgroups() const { return cgroups_; }

private:
  enum class Goal : std::uint8_t { start, attach, purge };
  enum class Phase : std::uint8_t {
    looking,
    greeting,
    starting,
    running,
    ended,
    leaving,
    clearing
  };

  struct Task {
    std::string key;
    Goal goal = Goal::attach;
    Phase phase = Phase::looking;
    TaskListener listener;
    std::optional<TaskCommand> command;
    std::string run_id;        ///< Wanted; empty: whichever is there.
    bool announced = false;    ///< `started` was called with success.
    executor::RunState state;  ///< As far as known.
    pid_t executor_pid = 0;
    CgroupScope cgroup;
    UniqueFd socket;
    bool wants_write = false;
    executor::FrameReader reader;
    std::vector<UniqueFd> received;  ///< Came with messages that are not whole yet.
    std::string output;
    std::uint32_t next_request = 1;
    std::map<std::uint32_t, ExecutorDone> requests;
    UniqueFd directory;  ///< Locked, while clearing.
    std::function<void()> after_clearing;
    std::vector<std::function<void()>> when_settled;   ///< Orders that came too early.
    std::vector<std::function<void()>> after_removal;  ///< Starts that wait for the key.
    std::vector<ExecutorDone> cleared;                 ///< Of acknowledge and purge.
    std::optional<Error> failure;  ///< Of a start; told once the place is clear.
    bool launched = false;         ///< An executor was started here.
    bool exit_told = false;
    bool removed = false;  ///< In the graveyard until the loop's next turn.
    Clock::time_point give_up;
    std::uint64_t timer = 0;  ///< Only the newest timer of a task counts.
  };

  struct Timer {
    std::string key;
    std::uint64_t timer = 0;
  };

  void run();
  int timeout_ms() const;
  void run_posted();
  void run_timers();
  void on_event(int descriptor, std::uint32_t events);
  void arm(Task& task, std::chrono::milliseconds delay);

  Task& add(std::string key, Goal goal, TaskListener listener);
  Task* find(const std::string& key);
  void remove(Task& task);

  void begin_looking(Task& task);
  void look(Task& task);
  void found_dead(Task& task, FoundExecutor location);
  void found_absent(Task& task);
  void nothing_there(Task& task);
  void launch(Task& task);
  void greet(Task& task, UniqueFd socket);
  void on_timer(Task& task);
  void on_broken(Task& task);
  bool watch(int descriptor, Task* task);
  void disconnect(Task& task);
  void flush(Task& task);
  void read(Task& task);
  void on_message(Task& task, executor::Message::Reader message);
  void on_welcome(Task& task, executor::Message::Reader message);
  void on_ended(Task& task);
  void send_start(Task& task);
  /// The error is that the message is longer than executors take: nothing was sent.
  Result<> send(Task& task, const std::function<void(executor::Message::Builder)>& fill);
  void request(Task& task,
               ExecutorDone done,
               const std::function<void(executor::Message::Builder)>& fill);
  static Result<std::vector<UniqueFd>> take_streams(Task& task, bool tty, const Result<>& outcome);
  void leave(Task& task);

  void settle(Task& task);
  void kill_for_purge(Task& task);
  void clear(Task& task, std::function<void()> then);
  void clear_step(Task& task);
  void finish_purge(Task& task);
  void announce(Task& task, bool reattached);
  void give_up(Task& task, Error error);
  void lost(Task& task, Error error);
  void reap(int descriptor);

  Options options_;
  Cgroups cgroups_;
  UniqueFd state_directory_;
  UniqueFd epoll_;
  UniqueFd wake_;
  std::string search_path_;
  std::map<std::string, std::unique_ptr<Task>> tasks_;
  std::vector<std::unique_ptr<Task>> graveyard_;
  std::map<int, Task*> by_descriptor_;
  std::map<int, std::pair<UniqueFd, pid_t>> children_;  ///< pidfds of executors we started.
  std::multimap<Clock::time_point, Timer> timers_;
  std::uint64_t next_timer_ = 0;
  bool stopping_ = false;
  std::mutex posted_mutex_;
  std::vector<std::function<void()>> posted_;  ///< Guarded by posted_mutex_.
  std::thread thread_;
};

}  // namespace nomad::host
