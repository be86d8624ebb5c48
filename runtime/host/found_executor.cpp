#include "runtime/host/found_executor.hpp"

#include <algorithm>
#include <array>

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <dirent.h>

#include "runtime/host/process/spawn.hpp"

namespace nomad::host {

namespace {

// A path below a descriptor fits the 108 bytes of a socket address, whatever the data directory
// is called.
sockaddr_un socket_address(int directory) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::string path = "/proc/self/fd/" + std::to_string(directory) + '/' + executor::socket_file;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  return address;
}

UniqueFd make_socket() {
  return UniqueFd{::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
}

int connect_to(int socket, int directory) {
  sockaddr_un address = socket_address(directory);
  return ::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0
             ? 0
             : errno;
}

Result<UniqueFd> listen_in(int directory) {
  ::unlinkat(directory, executor::socket_file, 0);
  UniqueFd listener = make_socket();
  sockaddr_un address = socket_address(directory);
  if (!listener
      || ::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0
      || ::listen(listener.get(), 16) != 0)
    return errno_error("making the executor's socket", errno);
  return listener;
}

// The processes of the task's session. A session's number is not given away while one of it lives,
// and whoever has it now but started before the task is not ours.
std::vector<pid_t> session_processes(const ProcessId& leader) {
  std::vector<pid_t> pids;
  ProcessId now = identify(leader.pid);
  if (now.boot_id != leader.boot_id
      || (now.start_ticks != 0 && now.start_ticks != leader.start_ticks))
    return pids;
  DIR* proc = ::opendir("/proc");
  if (proc == nullptr) return pids;
  while (const dirent* entry = ::readdir(proc)) {
    if (entry->d_name[0] < '1' || entry->d_name[0] > '9') continue;
    ProcessStat stat;
    if (parse_process_stat(read_proc_file(std::string{"/proc/"} + entry->d_name + "/stat"), stat)
        && stat.session == leader.pid && stat.start_ticks >= leader.start_ticks
        && stat.state != 'Z')
      pids.push_back(stat.pid);
  }
  ::closedir(proc);
  return pids;
}

}  // namespace

Result<FoundExecutor> look_for_executor(int state_directory, const std::string& key) {
  FoundExecutor found;
  found.directory.reset(
      ::openat(state_directory, key.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!found.directory) {
    if (errno == ENOENT) return found;
    return errno_error("opening the executor's directory " + key, errno);
  }
  if (::flock(found.directory.get(), LOCK_EX | LOCK_NB) == 0) {
    found.kind = FoundExecutor::Kind::dead;
    auto state = executor::read_state(found.directory.get());
    found.is_damaged = !state;
    if (state) found.state = std::move(*state);
    return found;
  }
  if (errno != EWOULDBLOCK) return errno_error("locking the executor's directory " + key, errno);
  found.kind = FoundExecutor::Kind::busy;
  UniqueFd socket = make_socket();
  if (!socket) return errno_error("making a socket", errno);
  int error = connect_to(socket.get(), found.directory.get());
  if (error == 0) {
    found.kind = FoundExecutor::Kind::alive;
    found.socket = std::move(socket);
  } else if (error != ENOENT && error != ECONNREFUSED && error != EAGAIN) {
    return errno_error("connecting to executor " + key, error);
  }
  found.directory.reset();
  return found;
}

Result<UniqueFd> make_location(int state_directory, const std::string& key) {
  if (::mkdirat(state_directory, key.c_str(), 0700) != 0 && errno != EEXIST)
    return errno_error("making the executor's directory " + key, errno);
  UniqueFd directory{
      ::openat(state_directory, key.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)};
  if (!directory) return errno_error("opening the executor's directory " + key, errno);
  if (::flock(directory.get(), LOCK_EX | LOCK_NB) != 0)
    return errno_error("locking the executor's directory " + key, errno, Errc::conflict);
  return directory;
}

Result<SpawnedExecutor> spawn_executor(const std::string& program, UniqueFd locked) {
  const UniqueFd directory = std::move(locked);
  const auto listener = NOMAD_TRY(listen_in(directory.get()));
  SpawnedExecutor made;
  made.socket = make_socket();
  if (!made.socket) return errno_error("making a socket", errno);
  if (int error = connect_to(made.socket.get(), directory.get()); error != 0)
    return errno_error("connecting to the executor's socket", error);
  const UniqueFd log{::openat(directory.get(), executor::log_file,
                              O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600)};
  if (!log) return errno_error("opening the executor's log", errno);
  // No environment: the agent's may hold secrets, and the executor needs none.
  auto spawned = spawn(
      {.program = program,
       .name = "nomadctl-executor",
       .descriptors = {{log.get(), 1}, {log.get(), 2}, {directory.get(), 3}, {listener.get(), 4}},
       .group = ProcessGroup::of_own_session});
  if (!spawned) return Error{Errc::io, spawned.error().what};
  made.process = std::move(spawned->process);
  made.pid = spawned->pid;
  return made;
}

Result<> remove_location(int state_directory, const std::string& key, int directory) {
  for (const char* name :
       {executor::socket_file, executor::state_file, executor::log_file, "state.new"}) {
    if (::unlinkat(directory, name, 0) != 0 && errno != ENOENT)
      return errno_error("removing executor " + key, errno);
  }
  if (::unlinkat(state_directory, key.c_str(), AT_REMOVEDIR) != 0 && errno != ENOENT)
    return errno_error("removing executor " + key, errno);
  return {};
}

bool kill_leftovers(const executor::RunState& state, const CgroupScope& cgroup) {
  bool none = true;
  if (!Cgroups::processes(cgroup).empty()) {
    Cgroups::kill(cgroup);
    none = false;
  }
  // An executor that has written a status had seen to it that nothing was left.
  if (state.process.pid == 0 || state.exit) return none;
  for (pid_t pid : session_processes(state.process)) {
    ::kill(pid, SIGKILL);
    none = false;
  }
  return none;
}

std::string executor_complaints(int state_directory, const std::string& key) {
  std::string path = key + '/' + executor::log_file;
  UniqueFd file{::openat(state_directory, path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC)};
  if (!file) return {};
  constexpr off_t wanted = 1024;
  off_t size = ::lseek(file.get(), 0, SEEK_END);
  std::array<char, wanted> buffer;
  ssize_t got
      = ::pread(file.get(), buffer.data(), buffer.size(), std::max<off_t>(0, size - wanted));
  if (got <= 0) return {};
  std::string text(buffer.data(), static_cast<std::size_t>(got));
  while (!text.empty() && text.back() == '\n')
    text.pop_back();
  std::replace(text.begin(), text.end(), '\n', ';');
  return text;
}

}  // namespace nomad::host
