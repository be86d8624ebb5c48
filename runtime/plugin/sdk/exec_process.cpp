#include "runtime/plugin/sdk/exec_process.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/host/process/spawn.hpp"

namespace nomad::plugin {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t piece_bytes = 32 * 1024;
constexpr auto last_words = 1s;  ///< Of what it has started, once the command itself has ended.

void close_fd(int& descriptor) {
  if (descriptor >= 0) ::close(std::exchange(descriptor, -1));
}

/// The descriptors of a command as they are made; those that nobody has taken are closed.
struct Ends {
  std::array<int, 3> ours{-1, -1, -1};
  std::array<int, 3> theirs{-1, -1, -1};

  Ends() = default;
  Ends(const Ends&) = delete;
  Ends& operator=(const Ends&) = delete;

  ~Ends() {
    for (auto* each : {&ours[0], &ours[1], &ours[2], &theirs[0], &theirs[1], &theirs[2]})
      close_fd(*each);
  }

  Result<> make_pipes() {
    for (unsigned stream = 0; stream < 3; ++stream) {
      auto pipe = NOMAD_TRY(host::make_pipe());
      ours[stream] = (stream == 0 ? pipe.writing : pipe.reading).release();
      theirs[stream] = (stream == 0 ? pipe.reading : pipe.writing).release();
    }
    return {};
  }

  Result<> make_terminal() {
    char name[64];
    ours[1] = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (ours[1] < 0 || ::grantpt(ours[1]) != 0 || ::unlockpt(ours[1]) != 0
        || ::ptsname_r(ours[1], name, sizeof name) != 0)
      return errno_error("making a terminal", errno);
    theirs[0] = ::open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (theirs[0] < 0) return errno_error("opening a terminal", errno);
    ours[0] = ::fcntl(ours[1], F_DUPFD_CLOEXEC, 0);
    return ours[0] < 0 ? Result<>{errno_error("copying a terminal", errno)} : Result<>{};
  }
};

}  // namespace

Result<std::shared_ptr<ExecProcess>> ExecProcess::start(Agent& agent,
                                                        const ExecPlan& plan,
                                                        bool tty,
                                                        CommandTold told) {
  std::shared_ptr<ExecProcess> made{new ExecProcess{agent, std::move(told)}};
  const auto outcome = made->run(plan, tty);
  if (!outcome) return outcome.error();
  return made;
}

Result<> ExecProcess::run(const ExecPlan& plan, bool tty) {
  if (plan.command.empty()) return Error{Errc::invalid_argument, "there is no command"};
  Ends ends;
  const auto made = tty ? ends.make_terminal() : ends.make_pipes();
  if (!made) return made;
  auto spawned = host::spawn(
      {.program = plan.command.front(),
       .arguments = {plan.command.begin() + 1, plan.command.end()},
       .environment = plan.environment ? *plan.environment : host::own_environment(),
       .descriptors
       = {{ends.theirs[0], 0}, {ends.theirs[tty ? 0 : 1], 1}, {ends.theirs[tty ? 0 : 2], 2}},
       .directory = plan.directory,
       .group = host::ProcessGroup::of_own_session,
       .dies_with_thread = true,
       .takes_terminal = tty,
       .searches_path = true,
       .enter = plan.enter});
  if (!spawned) return Error{Errc::rejected, spawned.error().what};
  pid_ = spawned->pid;
  process_ = spawned->process.release();
  tty_ = tty;
  streams_ = std::exchange(ends.ours, {-1, -1, -1});
  for (const int descriptor : streams_)
    if (descriptor >= 0) ::fcntl(descriptor, F_SETFL, ::fcntl(descriptor, F_GETFL) | O_NONBLOCK);
  agent_.watch(process_, POLLIN, [self = shared_from_this()](short) { self->reap(); });
  watch();
  return {};
}

/// What may be read and written now. The callbacks hold it.
void ExecProcess::watch() {
  for (unsigned stream = 1; stream < 3; ++stream)
    if (streams_[stream] >= 0)
      agent_.watch(streams_[stream], untaken_ < window ? POLLIN : 0,
                   [self = shared_from_this(), stream](short) { self->read(stream); });
  if (streams_[0] >= 0)
    agent_.watch(streams_[0], waiting_.empty() ? 0 : POLLOUT,
                 [self = shared_from_this()](short) { self->write(); });
}

void ExecProcess::read(unsigned stream) {
  const auto self = shared_from_this();
  char piece[piece_bytes];
  const auto got = ::read(streams_[stream], piece, std::min(sizeof piece, window - untaken_));
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) return end_output(stream);  // a terminal that nobody holds is an error
  untaken_ += static_cast<std::size_t>(got);
  told_.output(stream, {piece, static_cast<std::size_t>(got)}, false);
  if (untaken_ >= window) watch();
}

void ExecProcess::end_output(unsigned stream) {
  agent_.unwatch(streams_[stream]);
  close_fd(streams_[stream]);
  told_.output(stream, {}, true);
  finish();
}

void ExecProcess::taken(std::size_t bytes) {
  const bool was_full = untaken_ >= window;
  untaken_ -= std::min(bytes, untaken_);
  if (was_full && untaken_ < window && !told_end_) watch();
}

void ExecProcess::input(std::string_view bytes, bool last) {
  input_ends_ = input_ends_ || last;
  if (streams_[0] < 0) {  // nobody reads it
    if (!bytes.empty()) told_.input_taken(bytes.size());
    return;
  }
  waiting_ += bytes;
  write();
}

void ExecProcess::write() {
  const auto self = shared_from_this();
  std::size_t gone = 0;
  bool is_broken = false;
  while (!waiting_.empty()) {
    const auto count = ::write(streams_[0], waiting_.data(), waiting_.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) break;
    is_broken = count <= 0;
    const auto used = is_broken ? waiting_.size() : static_cast<std::size_t>(count);
    waiting_.erase(0, used);
    gone += used;
  }
  if (gone > 0) told_.input_taken(gone);
  if (streams_[0] < 0) return;
  if (is_broken || (input_ends_ && waiting_.empty())) {
    // A terminal has no end of its input alone.
    if (tty_ && !is_broken && pid_ > 0) ::kill(-pid_, SIGHUP);
    agent_.unwatch(streams_[0]);
    close_fd(streams_[0]);
    return;
  }
  agent_.watch(streams_[0], waiting_.empty() ? 0 : POLLOUT, [self](short) { self->write(); });
}

void ExecProcess::resize(unsigned rows, unsigned columns) {
  if (!tty_ || streams_[1] < 0) return;
  winsize size{};
  size.ws_row = static_cast<unsigned short>(rows);
  size.ws_col = static_cast<unsigned short>(columns);
  ::ioctl(streams_[1], TIOCSWINSZ, &size);
}

void ExecProcess::reap() {
  const auto self = shared_from_this();
  siginfo_t end{};
  if (::waitid(P_PID, static_cast<id_t>(pid_), &end, WEXITED | WNOHANG | WNOWAIT) != 0
      || end.si_pid == 0)
    return;
  kill();  // what it has started and left in its session's group, while that is its own still
  ::waitpid(std::exchange(pid_, 0), &status_, 0);
  has_ended_ = true;
  agent_.unwatch(process_);
  close_fd(process_);
  if (!told_end_) agent_.after(last_words, [self] { self->give_up_output(); });
  finish();
}

/// Somebody whom it has started holds its output still.
void ExecProcess::give_up_output() {
  if (told_end_) return;
  if (untaken_ >= window) {  // what is there is waited for
    agent_.after(last_words, [self = shared_from_this()] { self->give_up_output(); });
    return;
  }
  for (unsigned stream = 1; stream < 3; ++stream)
    if (streams_[stream] >= 0) end_output(stream);
}

void ExecProcess::finish() {
  if (told_end_ || !has_ended_ || streams_[1] >= 0 || streams_[2] >= 0) return;
  told_end_ = true;
  if (streams_[0] >= 0) {
    agent_.unwatch(streams_[0]);
    close_fd(streams_[0]);
  }
  const auto code = WIFEXITED(status_) ? WEXITSTATUS(status_) : 0;
  told_.ended({.code = code, .signal = WIFSIGNALED(status_) ? WTERMSIG(status_) : 0});
}

void ExecProcess::kill() const {
  if (pid_ > 0) ::kill(-pid_, SIGKILL);
}

void ExecProcess::close() {
  told_end_ = true;
  for (auto& descriptor : streams_) {
    if (descriptor < 0) continue;
    agent_.unwatch(descriptor);
    close_fd(descriptor);
  }
  kill();  // and `reap` follows
}

ExecProcess::~ExecProcess() {
  for (auto& descriptor : streams_)
    close_fd(descriptor);
  close_fd(process_);
  if (pid_ <= 0) return;
  kill();
  ::waitpid(pid_, nullptr, 0);
}

}  // namespace nomad::plugin
