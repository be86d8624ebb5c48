#include "runtime/host/executor/exec_sessions.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <linux/openat2.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <capnp/message.h>
#include <capnp/serialize.h>

#include "runtime/host/executor/containment.hpp"
#include "runtime/host/executor/exit_status.hpp"
#include "runtime/host/process/process_id.hpp"

namespace nomad::host::executor {

namespace {

// As the shell and Go have it: "no such file or directory".
std::string reason(int error_number) {
  std::string text = std::strerror(error_number);
  if (!text.empty() && text.front() >= 'A' && text.front() <= 'Z')
    text.front() = static_cast<char>(text.front() - 'A' + 'a');
  return text;
}

// Users know these sentences from other clients of the API, and scripts match on them.
LaunchError cannot_start(const std::string& why) {
  return {"failed to start command: " + why, 0};
}

// A bare name is looked up; a path is taken as it is, by the child, in its directory.
bool find(schema::executor::Exec::Reader exec,
          schema::executor::Start::Reader location,
          Program& program,
          LaunchError& error) {
  for (auto word : exec.getCommand())
    program.arguments.emplace_back(word.cStr());
  if (program.arguments.empty() || program.arguments.front().empty()) {
    error = {"command is required", 0};
    return false;
  }
  program.directory = exec.getDirectory().cStr();
  if (program.directory.empty())
    program.directory = location.hasIsolation() ? "/" : location.getTaskDirectory().cStr();
  const std::string& name = program.arguments.front();
  if (name.find('/') != std::string::npos) {
    program.path = name;
    return true;
  }
  program.missing = "exec: \"" + name + "\": executable file not found in $PATH";
  if (location.hasIsolation()) {
    // It is looked for where the task's files are.
    program.candidates = paths_of(name, location.getSearchPath().cStr());
    return true;
  }
  program.path = find_in_path(name, location.getSearchPath().cStr());
  if (program.path.empty()) error = cannot_start(program.missing);
  return !program.path.empty();
}

UniqueFd duplicate(const UniqueFd& descriptor) {
  return UniqueFd{::fcntl(descriptor.get(), F_DUPFD_CLOEXEC, 3)};
}

// The task's own terminals, so that the command finds its one below /dev/pts. Whoever is root in a
// task may have put anything there: what is no such device is not taken.
UniqueFd open_master(schema::executor::Start::Reader location, pid_t task) {
  constexpr int flags = O_RDWR | O_NOCTTY | O_CLOEXEC;
  if (location.hasIsolation()) {
    const std::string path = "/proc/" + std::to_string(task) + "/root";
    const UniqueFd root{::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)};
    open_how how{};
    how.flags = flags | O_NONBLOCK;
    how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
    UniqueFd master{
        static_cast<int>(::syscall(SYS_openat2, root.get(), "dev/pts/ptmx", &how, sizeof how))};

    struct stat status {};

    if (master && ::fstat(master.get(), &status) == 0 && S_ISCHR(status.st_mode)
        && status.st_rdev == makedev(5, 2) && ::fcntl(master.get(), F_SETFL, 0) == 0)
      return master;
  }
  return UniqueFd{::posix_openpt(flags)};
}

bool open_terminal(schema::executor::Start::Reader location,
                   pid_t task,
                   Program& program,
                   std::vector<UniqueFd>& ends) {
  UniqueFd master = open_master(location, task);
  if (!master || ::unlockpt(master.get()) != 0) return false;
  // Not by its name, which may mean another terminal, or none, where the task lives.
  UniqueFd terminal{::ioctl(master.get(), TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC)};
  if (!terminal) return false;
  // The command may want to open its terminal again. Who is not root owns it already.
  if (location.hasUser() && ::geteuid() == 0
      && ::fchown(terminal.get(), location.getUser().getUid(), static_cast<gid_t>(-1)) != 0)
    return false;
  program.terminal = true;
  program.input = duplicate(terminal);
  program.output = duplicate(terminal);
  program.errors = std::move(terminal);
  ends.push_back(std::move(master));
  return program.input && program.output;
}

bool open_pipes(Program& program, std::vector<UniqueFd>& ends) {
  UniqueFd input, output, errors;
  if (!make_pipe(program.input, input) || !make_pipe(output, program.output)
      || !make_pipe(errors, program.errors))
    return false;
  ends.push_back(std::move(input));
  ends.push_back(std::move(output));
  ends.push_back(std::move(errors));
  return true;
}

// All that live in the session. What is born while we look is found by the next look; what was
// killed has no more children.
void kill_session(pid_t session) {
  std::vector<pid_t> killed;
  bool found = true;
  while (found) {
    found = false;
    for (pid_t pid : descendants()) {
      ProcessStat stat;
      if (!parse_process_stat(read_proc_file("/proc/" + std::to_string(pid) + "/stat"), stat)
          || stat.session != session || stat.state == 'Z'
          || std::find(killed.begin(), killed.end(), pid) != killed.end())
        continue;
      ::kill(pid, SIGKILL);
      killed.push_back(pid);
      found = true;
    }
  }
}

}  // namespace

void ExecSessions::remember(schema::executor::Start::Reader start) {
  capnp::MallocMessageBuilder whole;
  whole.setRoot(start);
  auto root = whole.getRoot<schema::executor::Start>();
  root.disownCommand();
  root.disownArguments();
  root.disownLogs();
  if (root.hasIsolation()) {
    auto isolation = root.getIsolation();
    isolation.disownMounts();
    isolation.disownPrograms();
  }
  capnp::MallocMessageBuilder builder;  // without what was left out
  builder.setRoot(root.asReader());
  location_ = capnp::messageToFlatArray(builder);
}

std::vector<UniqueFd> ExecSessions::open(schema::executor::Exec::Reader exec,
                                         pid_t task,
                                         int epoll,
                                         LaunchError& error) {
  if (sessions_.size() >= max_sessions) {
    error = {"too many commands run beside the task", 0};
    return {};
  }
  capnp::ReaderOptions options;
  options.traversalLimitInWords = 4 * location_.size() + 1024;
  capnp::FlatArrayMessageReader reader{location_, options};
  auto location = reader.getRoot<schema::executor::Start>();
  Program program;
  if (!find(exec, location, program, error)) return {};

  std::vector<UniqueFd> ends;
  int pair[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) != 0) {
    error = {"cannot make the command's socket: " + reason(errno), 0};
    return {};
  }
  Session session{0, UniqueFd{pair[0]}};
  ends.emplace_back(pair[1]);
  if (!(exec.getTty() ? open_terminal(location, task, program, ends) : open_pipes(program, ends))) {
    error = {std::string{exec.getTty() ? "failed to open a tty: " : "failed to set command io: "}
                 + reason(errno),
             0};
    return {};
  }
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = session.socket.get();
  if (::epoll_ctl(epoll, EPOLL_CTL_ADD, session.socket.get(), &event) != 0) {
    error = {"cannot watch the command: " + reason(errno), 0};
    return {};
  }
  std::string path = program.path;
  session.pid = launch_in(location, task, std::move(program), error);
  if (session.pid == 0) {
    if (error.executing) error.what = "fork/exec " + path;
    if (error.error_number != 0) error.what += ": " + reason(error.error_number);
    error = cannot_start(error.what);
    return {};
  }
  sessions_.push_back(std::move(session));
  return ends;
}

bool ExecSessions::on_event(int descriptor) {
  auto session = std::find_if(sessions_.begin(), sessions_.end(),
                              [&](const Session& each) { return each.socket.get() == descriptor; });
  if (session == sessions_.end()) return false;
  std::array<char, 256> nothing_known;
  ssize_t got = ::read(descriptor, nothing_known.data(), nothing_known.size());
  if (got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR))) return true;
  session->socket.reset();
  kill_session(session->pid);  // not reaped yet, so the number is still its own
  return true;
}

bool ExecSessions::reaped(pid_t pid, int status) {
  auto session = std::find_if(sessions_.begin(), sessions_.end(),
                              [pid](const Session& each) { return each.pid == pid; });
  if (session == sessions_.end()) return false;
  if (session->socket) {
    std::string exited = frame(0, [status](Message::Builder message) {
      fill_exit(message.initExited(), exit_of(status));
    });
    // It fits into an empty socket; who has closed the other end wants to know nothing.
    ::send(session->socket.get(), exited.data(), exited.size(), MSG_NOSIGNAL);
  }
  sessions_.erase(session);
  return true;
}

}  // namespace nomad::host::executor
