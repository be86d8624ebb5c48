#include "runtime/host/executor/launch.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <optional>
#include <vector>

#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <grp.h>
#include <sched.h>

#include "runtime/host/executor/enter.hpp"
#include "runtime/host/process/core_files.hpp"
#include "runtime/host/process/reset_signals.hpp"

namespace nomad::host::executor {

namespace {

// Everything the child needs, made ready by the parent, so that the child only makes system calls.
struct Plan {
  Program program;
  std::vector<char*> arguments;
  std::vector<char*> environment;
  std::vector<UniqueFd> cgroup_files;  // of the groups that clone3 does not join
  UniqueFd unified;
  UniqueFd network;
  std::optional<schema::executor::Isolation::Reader> isolation;
  bool is_beside = false;  // a command that enters the task's place, instead of making it
  TaskIsolation location;  // of that
  UniqueFd report;         // the parent's end
  UniqueFd pids, own_pids;
  std::vector<std::pair<int, rlimit>> limits;
  std::vector<gid_t> groups;
  uid_t uid = 0;
  gid_t gid = 0;
  bool switch_user = false;
};

struct ChildError {
  int step = 0;
  EnterFailure failure;  // its text, where the step's name does not say it
};

constexpr const char* step_names[] = {"joining the cgroup",
                                      "entering the network namespace",
                                      "opening the output",
                                      "setting resource limits",
                                      "setting groups",
                                      "setting the user",
                                      "entering the task directory",
                                      "executing",
                                      "isolating"};

enum Step { join, network, output, limits, groups, user, directory, execute, isolate };

[[noreturn]] void fail_with(int report, Step step, const EnterFailure& failure) {
  ChildError error{step, failure};
  // If the pipe is gone, so is the parent, and nobody wants to know.
  if (::write(report, &error, sizeof error) < 0) ::_exit(126);
  ::_exit(127);
}

[[noreturn]] void fail(int report, Step step) {
  fail_with(report, step, EnterFailure{errno, {}});
}

// Tasks start without the protection that the agent may have from the out-of-memory killer.
// Without the right to raise it the inherited value stays, which is harmless.
void reset_oom_score() {
  UniqueFd file{::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC)};
  if (file && ::write(file.get(), "0", 1) < 0) return;
}

// Who is in another namespace of processes does not see its parent; the other end of the report,
// which the parent alone has, tells whether it lives.
void die_with_parent(int report) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  pollfd other_end{report, 0, 0};
  if (::poll(&other_end, 1, 0) > 0 && (other_end.revents & POLLERR) != 0) ::_exit(125);
}

// What is written may be opened again, by /dev/stdout, by the task's user.
void give_streams(uid_t owner) {
  for (const int stream : {0, 1, 2}) {
    struct stat status {};

    // Who may not give them away leaves them as they are: only opening them again fails.
    if (::fstat(stream, &status) == 0 && S_ISFIFO(status.st_mode)
        && ::fchown(stream, owner, static_cast<gid_t>(-1)) != 0)
      return;
  }
}

void take_streams(const Plan& plan, int report) {
  if (::dup2(plan.program.input.get(), 0) < 0 || ::dup2(plan.program.output.get(), 1) < 0
      || ::dup2(plan.program.errors.get(), 2) < 0
      || (plan.program.terminal && ::ioctl(0, TIOCSCTTY, 0) != 0))
    fail(report, output);
  if (plan.isolation) give_streams(plan.uid);
}

void switch_user(const Plan& plan, int report) {
  if (!plan.switch_user) return;
  if (::setgroups(plan.groups.size(), plan.groups.data()) != 0) fail(report, groups);
  EnterFailure failure;
  if (plan.isolation) {
    if (!take_identity(*plan.isolation, plan.uid, plan.gid, failure))
      fail_with(report, isolate, failure);
  } else if (::setresgid(plan.gid, plan.gid, plan.gid) != 0
             || ::setresuid(plan.uid, plan.uid, plan.uid) != 0) {
    fail(report, user);
  }
  die_with_parent(report);  // a change of user takes it back
}

// The program to execute. What has to be looked for is looked for here, where the task's files are.
const char* find_in_place(const Plan& plan, int report) {
  if (plan.program.candidates.empty()) return plan.program.path.c_str();
  const char* found = find_program(plan.program.candidates, plan.is_beside);
  if (found == nullptr) {
    EnterFailure failure;
    std::snprintf(failure.what, sizeof failure.what, "%s", plan.program.missing.c_str());
    fail_with(report, isolate, failure);
  }
  return found;
}

[[noreturn]] void run_child(Plan& plan, int report) {
  ::setsid();
  plan.report.reset();
  die_with_parent(report);
  if (plan.network && ::setns(plan.network.get(), CLONE_NEWNET) != 0) fail(report, network);
  take_streams(plan, report);
  reset_oom_score();
  ::umask(022);  // also for what a root of its own needs
  EnterFailure failure;
  if (plan.isolation
      && !(plan.is_beside ? join_location(plan.location, failure)
                          : enter_root(*plan.isolation, failure)))
    fail_with(report, isolate, failure);
  if (plan.isolation) leave_keys();
  // Not before: what is above has the executor's share of a busy processor, not the
  // task's.
  for (const UniqueFd& file : plan.cgroup_files) {
    if (::write(file.get(), "0", 1) < 0) fail(report, join);
  }
  restore_core_limit();
  for (const auto& [resource, limit] : plan.limits) {
    if (::setrlimit(static_cast<__rlimit_resource_t>(resource), &limit) != 0) fail(report, limits);
  }
  const char* path = find_in_place(plan, report);
  if (plan.isolation && !install_filter(*plan.isolation, failure))
    fail_with(report, isolate, failure);
  switch_user(plan, report);
  if (::chdir(plan.program.directory.c_str()) != 0) fail(report, directory);
  reset_signals();
  ::syscall(SYS_close_range, 3U, ~0U, 4U /* CLOSE_RANGE_CLOEXEC */);
  if (plan.arguments.front() == nullptr) plan.arguments.front() = const_cast<char*>(path);
  ::execve(path, plan.arguments.data(), plan.environment.data());
  fail(report, execute);
}

// The flags of the namespaces that the child begins.
std::uint64_t namespaces_of(const Plan& plan) {
  if (!plan.isolation || plan.is_beside) return 0;
  return CLONE_NEWNS | (plan.isolation->getPrivatePids() ? CLONE_NEWPID : 0)
         | (plan.isolation->getPrivateIpc() ? CLONE_NEWIPC : 0);
}

pid_t clone_into(int cgroup, std::uint64_t namespaces) {
  clone_args arguments{};
  arguments.exit_signal = SIGCHLD;
  arguments.flags = namespaces;
  if (cgroup >= 0) {
    arguments.flags |= CLONE_INTO_CGROUP;
    arguments.cgroup = static_cast<std::uint64_t>(cgroup);
  }
  return static_cast<pid_t>(::syscall(SYS_clone3, &arguments, sizeof arguments));
}

bool exists(const std::string& path) {
  struct stat status {};

  return ::stat(path.c_str(), &status) == 0;
}

// Makes a file of the task directory executable; one that a link leads to elsewhere is left alone.
bool make_executable(const std::string& path,
                     const std::string& task_directory,
                     LaunchError& error) {
  UniqueFd file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};

  struct stat status {};

  if (!file || ::fstat(file.get(), &status) != 0) {
    // A file that is executable but not readable is fine as it is.
    return ::access(path.c_str(), X_OK) == 0
           || (error = {"binary \"" + path + "\" cannot be opened", errno}, false);
  }
  if (!S_ISREG(status.st_mode)) {
    error = {"binary \"" + path + "\" is not a regular file", 0};
    return false;
  }
  constexpr mode_t wanted = 0555;
  if ((status.st_mode & wanted) == wanted) return true;
  std::vector<char> real(4096), root(4096);
  std::string link = "/proc/self/fd/" + std::to_string(file.get());
  ssize_t length = ::readlink(link.c_str(), real.data(), real.size());
  std::string resolved
      = length > 0 ? std::string(real.data(), static_cast<std::size_t>(length)) : std::string{};
  if (::realpath(task_directory.c_str(), root.data()) == nullptr) return true;
  if (resolved.rfind(std::string{root.data()} + '/', 0) != 0) return true;
  if (::fchmod(file.get(), (status.st_mode & 07777) | wanted) == 0) return true;
  error = {"error making \"" + path + "\" executable", errno};
  return false;
}

bool open_outputs(schema::executor::Start::Reader start,
                  Program& program,
                  Launched& launched,
                  LaunchError& error) {
  program.input.reset(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  bool opened = static_cast<bool>(program.input);
  if (start.hasLogs()) {
    opened = opened && make_pipe(launched.stdout_pipe, program.output)
             && make_pipe(launched.stderr_pipe, program.errors);
    for (int end : {launched.stdout_pipe.get(), launched.stderr_pipe.get()})
      opened = opened && ::fcntl(end, F_SETFL, O_NONBLOCK) == 0;
  } else {
    program.output.reset(::open("/dev/null", O_WRONLY | O_CLOEXEC));
    program.errors.reset(::open("/dev/null", O_WRONLY | O_CLOEXEC));
    opened = opened && program.output && program.errors;
  }
  if (!opened) error = {"cannot open the task's output", errno};
  return opened;
}

// A thread that moves itself by `tasks` is spared the lock, and the wait of tens of milliseconds
// for all processors, that `cgroup.procs` costs. The child is one thread.
bool open_cgroup(const std::string& directory, Plan& plan, LaunchError& error) {
  const std::string file = directory + "/tasks";
  plan.cgroup_files.emplace_back(::open(file.c_str(), O_WRONLY | O_CLOEXEC));
  if (!plan.cgroup_files.back()) error = {"cannot open " + file, errno};
  return static_cast<bool>(plan.cgroup_files.back());
}

bool open_cgroups(schema::executor::Start::Reader start, Plan& plan, LaunchError& error) {
  std::string unified{start.getCgroupUnified().cStr()};
  for (auto directory : start.getCgroupDirectories()) {
    if (unified == directory.cStr()) {
      plan.unified.reset(::open(unified.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
      if (plan.unified) continue;
    }
    if (!open_cgroup(directory.cStr(), plan, error)) return false;
  }
  std::string shared{start.getCgroupShared().cStr()};
  if (!shared.empty() && !open_cgroup(shared, plan, error)) return false;
  return true;
}

// Beside a task it is the one that the task is in: its path may be gone, or lead to another one.
bool open_network(schema::executor::Start::Reader start,
                  pid_t beside,
                  Plan& plan,
                  LaunchError& error) {
  std::string network{start.getNetworkNamespace().cStr()};
  if (network.empty()) return true;
  if (beside != 0) network = "/proc/" + std::to_string(beside) + "/ns/net";
  plan.network.reset(::open(network.c_str(), O_RDONLY | O_CLOEXEC));
  if (!plan.network) error = {"cannot open network namespace " + network, errno};
  return static_cast<bool>(plan.network);
}

void take_identity_of(schema::executor::Start::Reader start, Plan& plan) {
  for (auto limit : start.getLimits()) {
    plan.limits.emplace_back(limit.getResource(), rlimit{limit.getSoft(), limit.getHard()});
  }
  if (!start.hasUser()) return;
  auto user = start.getUser();
  plan.uid = user.getUid();
  plan.gid = user.getGid();
  for (auto group : user.getGroups())
    plan.groups.push_back(group);
  // Who is not root can only stay who he is.
  plan.switch_user = ::geteuid() == 0 || plan.uid != ::geteuid();
}

// Clones, falling back to joining by cgroup.procs where the kernel does not clone into a cgroup.
pid_t spawn(Plan& plan, schema::executor::Start::Reader start, int report, LaunchError& error) {
  const auto namespaces = namespaces_of(plan);
  // Children are born into the namespace of processes that their parent has chosen for them.
  if (plan.pids && ::setns(plan.pids.get(), CLONE_NEWPID) != 0) {
    error = {"entering the task's processes", errno};
    return -1;
  }
  pid_t child = clone_into(plan.unified.get(), namespaces);
  if (child < 0 && plan.unified) {
    std::string file = std::string{start.getCgroupUnified().cStr()} + "/cgroup.procs";
    plan.cgroup_files.emplace_back(::open(file.c_str(), O_WRONLY | O_CLOEXEC));
    if (plan.cgroup_files.back()) child = clone_into(-1, namespaces);
  }
  if (child < 0 && errno == ENOSYS && namespaces == 0) child = ::fork();
  if (child == 0) run_child(plan, report);
  if (child < 0) error = {"cannot make a process", errno};
  if (plan.own_pids) ::setns(plan.own_pids.get(), CLONE_NEWPID);
  return child;
}

bool open_isolation(schema::executor::Start::Reader location,
                    pid_t beside,
                    Plan& plan,
                    LaunchError& error) {
  if (!location.hasIsolation()) return true;
  plan.isolation = location.getIsolation();
  plan.is_beside = beside != 0;
  if (!plan.is_beside) return true;
  EnterFailure failure;
  if (!open_location(beside, *plan.isolation, plan.location, failure)) {
    error = {failure.what, failure.error_number};
    return false;
  }
  if (!plan.isolation->getPrivatePids()) return true;
  plan.pids.reset(
      ::open(("/proc/" + std::to_string(beside) + "/ns/pid").c_str(), O_RDONLY | O_CLOEXEC));
  plan.own_pids.reset(::open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC));
  if (!plan.pids || !plan.own_pids) error = {"cannot open the task's processes", errno};
  return plan.pids && plan.own_pids;
}

LaunchError to_launch_error(const ChildError& failure, const std::string& path) {
  if (failure.failure.what[0] != '\0') return {failure.failure.what, failure.failure.error_number};
  const bool executing = failure.step == execute;
  return {std::string{step_names[failure.step]} + (executing ? " " : " for ") + path,
          failure.failure.error_number, executing};
}

}  // namespace

bool make_pipe(UniqueFd& read_end, UniqueFd& write_end) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return false;
  read_end.reset(ends[0]);
  write_end.reset(ends[1]);
  return true;
}

std::vector<std::string> paths_of(const std::string& command, const std::string& search_path) {
  std::vector<std::string> paths;
  for (std::size_t begin = 0; begin <= search_path.size();) {
    const std::size_t end = std::min(search_path.find(':', begin), search_path.size());
    if (search_path[begin] == '/')
      paths.push_back(search_path.substr(begin, end - begin) + '/' + command);
    begin = end + 1;
  }
  return paths;
}

std::string find_in_path(const std::string& command, const std::string& search_path) {
  for (const std::string& candidate : paths_of(command, search_path)) {
    struct stat status {};

    if (::stat(candidate.c_str(), &status) == 0 && S_ISREG(status.st_mode)
        && (status.st_mode & 0111) != 0)
      return candidate;
  }
  return {};
}

std::string find_command(const std::string& task_directory,
                         const std::string& command,
                         const std::string& search_path,
                         LaunchError& error) {
  std::string found;
  for (const std::string& candidate :
       {task_directory + "/local/" + command, task_directory + '/' + command}) {
    if (found.empty() && !command.empty() && exists(candidate)) found = candidate;
  }
  bool in_task = !found.empty();
  if (found.empty() && !command.empty() && command.front() == '/' && exists(command))
    found = command;
  if (found.empty() && !command.empty() && command.find('/') == std::string::npos)
    found = find_in_path(command, search_path);
  if (found.empty()) {
    error = {"binary \"" + command + "\" could not be found", 0};
    return {};
  }
  if ((in_task || found.rfind(task_directory + '/', 0) == 0)
      && !make_executable(found, task_directory, error))
    return {};
  return found;
}

Launched launch(schema::executor::Start::Reader start, LaunchError& error) {
  Launched launched;
  Program program;
  if (start.hasIsolation()) {
    program.directory = "/";
    for (auto location : start.getIsolation().getPrograms())
      program.candidates.emplace_back(location.cStr());
    program.missing = std::string{"file "} + start.getCommand().cStr() + " not found under path";
    if (program.candidates.empty()) error = {program.missing, 0};
    if (program.candidates.empty()) return {};
  } else {
    program.directory = start.getTaskDirectory().cStr();
    program.path = find_command(program.directory, start.getCommand().cStr(),
                                start.getSearchPath().cStr(), error);
    if (program.path.empty()) return {};
  }
  if (!open_outputs(start, program, launched, error)) return {};
  program.arguments.emplace_back(start.getCommand().cStr());
  for (auto argument : start.getArguments())
    program.arguments.emplace_back(argument.cStr());
  launched.pid = launch_in(start, 0, std::move(program), error);
  if (launched.pid == 0) return {};
  return launched;
}

pid_t launch_in(schema::executor::Start::Reader location,
                pid_t beside,
                Program program,
                LaunchError& error) {
  Plan plan;
  plan.program = std::move(program);
  if (!open_cgroups(location, plan, error) || !open_network(location, beside, plan, error)
      || !open_isolation(location, beside, plan, error))
    return 0;
  take_identity_of(location, plan);
  for (std::string& argument : plan.program.arguments)
    plan.arguments.push_back(argument.data());
  if (beside == 0) plan.arguments.front() = nullptr;  // the program's path, once it is known
  plan.arguments.push_back(nullptr);
  for (auto variable : location.getEnvironment())
    plan.environment.push_back(const_cast<char*>(variable.cStr()));
  plan.environment.push_back(nullptr);

  UniqueFd report_end;
  if (!make_pipe(plan.report, report_end)) {
    error = {"cannot make a pipe", errno};
    return 0;
  }
  pid_t child = spawn(plan, location, report_end.get(), error);
  if (child < 0) return 0;
  report_end.reset();
  ChildError failure;
  ssize_t got = 0;
  do {
    got = ::read(plan.report.get(), &failure, sizeof failure);
  } while (got < 0 && errno == EINTR);
  if (got == 0) return child;  // closed by a successful exec
  ::waitpid(child, nullptr, 0);
  // One that is looked for in the task's own view is known by what the job calls it.
  const auto& path = plan.program.path;
  error = to_launch_error(failure, path.empty() ? plan.program.arguments.front() : path);
  return 0;
}

}  // namespace nomad::host::executor
