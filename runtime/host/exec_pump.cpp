#include "runtime/host/exec_pump.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>

#include <pthread.h>

#include "runtime/base/log.hpp"
#include "runtime/host/exec_pump_core.hpp"

namespace nomad::host {

namespace {

bool be_nonblocking(const UniqueFd& descriptor) {
  return !descriptor || ::fcntl(descriptor.get(), F_SETFL, O_NONBLOCK) == 0;
}

}  // namespace

// ---- the holder's side ----

class ExecPump::Handle final : public ExecSession {
public:
  Handle(std::shared_ptr<Core> core, std::shared_ptr<Session> session)
      : core_(std::move(core)), session_(std::move(session)) {}

  ~Handle() override {
    {
      std::lock_guard guard{session_->lock};
      session_->abandoned = true;
    }
    core_->mark(session_);
  }

  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  void start(ExecEvents events) override {
    {
      std::lock_guard guard{session_->lock};
      if (std::exchange(session_->started, true)) return;
      session_->events = std::move(events);
    }
    if (!core_->mark(session_))
      std::exchange(session_->events, {}).exited({.exit_code = -1, .error = Core::stopped});
  }

  bool write_input(std::string_view bytes) override {
    {
      std::lock_guard guard{session_->lock};
      if (session_->input_closed || session_->input_ended) return true;
      if (session_->input.size() - session_->written > input_queue) {
        session_->input_refused = true;
        return false;
      }
      session_->input += bytes;
    }
    core_->mark(session_);
    return true;
  }

  void end_input() override {
    {
      std::lock_guard guard{session_->lock};
      session_->input_ended = true;
    }
    core_->mark(session_);
  }

  void resize(std::uint16_t rows, std::uint16_t columns) override {
    std::lock_guard guard{session_->lock};
    if (!session_->ends.terminal) return;
    winsize size{};
    size.ws_row = rows;
    size.ws_col = columns;
    if (::ioctl(session_->ends.terminal.get(), TIOCSWINSZ, &size) != 0)
      log::debug("client.exec", "resizing a terminal failed", {{"error", std::strerror(errno)}});
  }

  void taken(std::size_t bytes) override {
    bool resumes = false;
    {
      std::lock_guard guard{session_->lock};
      bool was_full = session_->unacknowledged >= output_window;
      session_->unacknowledged -= std::min(bytes, session_->unacknowledged);
      resumes = was_full && session_->unacknowledged < output_window;
    }
    if (resumes) core_->mark(session_);
  }

private:
  std::shared_ptr<Core> core_;
  std::shared_ptr<Session> session_;
};

// ---- the pump ----

ExecPump::ExecPump(std::shared_ptr<Core> core) : core_(std::move(core)) {
  thread_ = std::thread{[core = core_] {
    ::pthread_setname_np(::pthread_self(), "exec");
    sigset_t broken_pipe;
    ::sigemptyset(&broken_pipe);
    ::sigaddset(&broken_pipe, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &broken_pipe, nullptr);
    core->run();
  }};
}

ExecPump::~ExecPump() {
  core_->stop();
  thread_.join();
}

Result<std::unique_ptr<ExecPump>> ExecPump::open() {
  UniqueFd epoll{::epoll_create1(EPOLL_CLOEXEC)};
  UniqueFd wake{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  if (!epoll || !wake) return errno_error("making the loop of commands' output", errno);
  auto core = std::make_shared<Core>(std::move(epoll), std::move(wake));
  if (!core->watch_wake()) return errno_error("making the loop of commands' output", errno);
  return std::unique_ptr<ExecPump>(new ExecPump(std::move(core)));
}

Result<std::shared_ptr<ExecSession>> ExecPump::adopt(ExecEnds ends) {
  for (const UniqueFd* end :
       {&ends.socket, &ends.terminal, &ends.input, &ends.output, &ends.errors}) {
    if (!be_nonblocking(*end)) return errno_error("taking a command's streams over", errno);
  }
  auto session = std::make_shared<Session>();
  session->ends = std::move(ends);
  return std::shared_ptr<ExecSession>(std::make_shared<Handle>(core_, std::move(session)));
}

Result<std::shared_ptr<ExecSession>> ExecPumpOnDemand::adopt(ExecEnds ends) {
  std::lock_guard guard{mutex_};
  if (!pump_) {
    pump_ = NOMAD_TRY(ExecPump::open());
  }
  return pump_->adopt(std::move(ends));
}

Result<ExecEnds> ends_of(std::vector<UniqueFd> descriptors) {
  ExecEnds ends;
  if (descriptors.size() != 2 && descriptors.size() != 4)
    return Error{Errc::io, "the command's streams were lost: too many open files"};
  ends.socket = std::move(descriptors[0]);
  if (descriptors.size() == 2) {
    ends.terminal = std::move(descriptors[1]);
    return ends;
  }
  ends.input = std::move(descriptors[1]);
  ends.output = std::move(descriptors[2]);
  ends.errors = std::move(descriptors[3]);
  return ends;
}

}  // namespace nomad::host
