// Executor: the life of one task's process, in one thread and one epoll loop.
//
//   idle ──start──▶ running ──main process ends──▶ ending ──all gone, logs written──▶ ended
//                      │ stop: signal, grace, kill ▲                                    │
//                      └───────────────────────────┘                     acknowledge ──▶ exit
//
// Invariants:
//   (1) `state` in the directory has the run id before the process exists, the process once it
//       does, and the status before anyone is told of it.
//   (2) In `ended` no process of the task is left (bar one that the kernel cannot kill within
//       `kill_patience`), and all that it wrote is in the log files.
//   (3) `acknowledge` ends an executor whose task has ended; it waits for that until nobody has
//       been connected for an hour, and never leaves a task. One that has started nothing ends by
//       it, too, when its start fails, or when nobody is connected for ten seconds (alone.hpp).
//   (4) One whose socket is gone from its directory, with the directory or without, can be found by
//       nobody any more: within `place_interval` it kills its task and ends.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/host/executor/alone.hpp"
#include "runtime/host/executor/containment.hpp"
#include "runtime/host/executor/exec_sessions.hpp"
#include "runtime/host/executor/launch.hpp"
#include "runtime/host/executor/log_writer.hpp"
#include "runtime/host/executor/protocol.hpp"
#include "runtime/host/executor/state_file.hpp"
#include "runtime/host/process/unique_fd.hpp"

namespace nomad::host::executor {

class Executor {
public:
  using Clock = std::chrono::steady_clock;

  /// `directory` holds the lock, `listener` is the listening socket in it.
  Executor(UniqueFd directory, UniqueFd listener);

  /// Serves until it is to exit; returns the exit code of the program.
  int run();

private:
  struct Client {
    UniqueFd socket;
    FrameReader reader;
  };

  struct Output {
    UniqueFd pipe;
    std::optional<LogWriter> writer;
    int reported_error = 0;
  };

  bool set_up();
  bool add(int descriptor) const;
  int timeout_ms() const;
  std::optional<Clock::time_point> leaves() const;
  void on_time();
  void look_at_location(Clock::time_point now);
  void on_event(int descriptor);
  void accept_client();
  void read_client(Client& client);
  void send(Client& client,
            const std::string& framed,
            const std::vector<UniqueFd>& descriptors = {});
  void answer(Client& client, Message::Reader message);
  void answer_hello(Client& client, Message::Reader message);
  void answer_start(Client& client, Message::Reader message);
  void answer_signal(Client& client, Message::Reader message);
  void answer_stop(Client& client, Message::Reader message);
  void answer_acknowledge(Client& client, Message::Reader message);
  void answer_exec(Client& client, Message::Reader message);
  void fail(Client& client, std::uint32_t id, const LaunchError& error);

  void fail(Client& client, std::uint32_t id, const std::string& what, int error_number = 0) {
    fail(client, id, LaunchError{what, error_number});
  }

  void drop_closed_clients();

  bool open_logs(schema::executor::Start::Reader start, LaunchError& error);
  void record(bool durable);
  void reap();
  void begin_ending(int status);
  void go_on_ending();
  void end();
  bool read_output(Output& output);

  UniqueFd directory_;
  UniqueFd listener_;
  UniqueFd epoll_;
  UniqueFd signals_;
  Phase phase_ = Phase::idle;
  RunState state_;
  Containment containment_;
  Output outputs_[2];
  ExecSessions sessions_;
  std::vector<std::unique_ptr<Client>> clients_;
  std::optional<Clock::time_point> kill_at_;      ///< End of a stop's grace.
  Clock::time_point alone_since_ = Clock::now();  ///< If nobody is connected.
  Clock::time_point ending_since_;
  Clock::time_point next_look_ = Clock::now();  ///< At the location.
  bool deserted_ = false;                       ///< It has lost its place.
};

}  // namespace nomad::host::executor
