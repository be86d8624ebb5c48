#include "runtime/host/executor/exit_status.hpp"

#include <chrono>

#include <sys/wait.h>

namespace nomad::host::executor {

std::int64_t unix_now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

ExitStatus exit_of(int status) {
  ExitStatus exit;
  exit.finished_at = unix_now();
  exit.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  exit.code = exit.signal != 0 ? 128 + exit.signal : WEXITSTATUS(status);
  return exit;
}

void fill_exit(schema::executor::Exit::Builder exit, const ExitStatus& status) {
  exit.setCode(status.code);
  exit.setSignal(status.signal);
  exit.setOomKilled(status.oom_killed);
  exit.setFinishedAt(status.finished_at);
  if (!status.reason.empty()) exit.setReason(status.reason);
}

ExitStatus from_message(schema::executor::Exit::Reader exit) {
  return {exit.getCode(), exit.getSignal(), exit.getOomKilled(), exit.getFinishedAt(),
          exit.getReason().cStr()};
}

}  // namespace nomad::host::executor
