#include "runtime/host/executor/launch.hpp"

#include <cerrno>
#include <vector>

#include <fcntl.h>
#include <linux/sched.h>
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
  std::vector<std::pair<int, rlimit>> limits;
  std::vector<gid_t> groups;
  uid_t uid = 0;
  gid_t gid = 0;
  bool switch_user = false;
};

struct ChildError {
  int error_number = 0;
  int step = 0;
};

constexpr const char* step_names[] = {"joining the cgroup",
                                      "entering the network namespace",
                                      "opening the output",
                                      "setting resource limits",
                                      "setting groups",
                                      "setting the user",
                                      "entering the task directory",
                                      "executing"};

enum Step { join, network, output, limits, groups, user, directory, execute };

[[noreturn]] void fail(int report, Step step) {
  ChildError error{errno, step};
  // If the pipe is gone, so is the parent, and nobody wants to know.
  if (::write(report, &error, sizeof error) < 0) ::_exit(126);
  ::_exit(127);
}

void reset_signals() {
  struct sigaction standard {};

  standard.sa_handler = SIG_DFL;
  for (int number = 1; number < NSIG; ++number)
    ::sigaction(number, &standard, nullptr);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

// Tasks start without the protection that the agent may have from the out-of-memory killer.
// Without the right to raise it the inherited value stays, which is harmless.
void reset_oom_score() {
  UniqueFd file{::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC)};
  if (file && ::write(file.get(), "0", 1) < 0) return;
}

void die_with_parent(pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(125);
}

[[noreturn]] void run_child(const Plan& plan, int report, pid_t parent) {
  ::setsid();
  die_with_parent(parent);
  for (const UniqueFd& file : plan.cgroup_files) {
    if (::write(file.get(), "0", 1) < 0) fail(report, join);
  }
  if (plan.network && ::setns(plan.network.get(), CLONE_NEWNET) != 0) fail(report, network);
  if (::dup2(plan.program.input.get(), 0) < 0 || ::dup2(plan.program.output.get(), 1) < 0
      || ::dup2(plan.program.errors.get(), 2) < 0
      || (plan.program.terminal && ::ioctl(0, TIOCSCTTY, 0) != 0))
    fail(report, output);
  reset_oom_score();
  for (const auto& [resource, limit] : plan.limits) {
    if (::setrlimit(static_cast<__rlimit_resource_t>(resource), &limit) != 0) fail(report, limits);
  }
  if (plan.switch_user) {
    if (::setgroups(plan.groups.size(), plan.groups.data()) != 0) fail(report, groups);
    if (::setresgid(plan.gid, plan.gid, plan.gid) != 0
        || ::setresuid(plan.uid, plan.uid, plan.uid) != 0)
      fail(report, user);
    die_with_parent(parent);  // a change of user takes it back
  }
  if (::chdir(plan.program.directory.c_str()) != 0) fail(report, directory);
  ::umask(022);
  reset_signals();
  ::syscall(SYS_close_range, 3U, ~0U, 4U /* CLOSE_RANGE_CLOEXEC */);
  ::execve(plan.program.path.c_str(), plan.arguments.data(), plan.environment.data());
  fail(report, execute);
}

pid_t clone_into(int cgroup) {
  clone_args arguments{};
  arguments.exit_signal = SIGCHLD;
  if (cgroup >= 0) {
    arguments.flags = CLONE_INTO_CGROUP;
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
  std::string network{start.getNetworkNamespace().cStr()};
  if (!network.empty()) {
    plan.network.reset(::open(network.c_str(), O_RDONLY | O_CLOEXEC));
    if (!plan.network) error = {"cannot open network namespace " + network, errno};
    return static_cast<bool>(plan.network);
  }
  return true;
}

void take_identity(schema::executor::Start::Reader start, Plan& plan) {
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
  pid_t parent = ::getpid();
  pid_t child = clone_into(plan.unified.get());
  if (child < 0 && plan.unified) {
    std::string file = std::string{start.getCgroupUnified().cStr()} + "/cgroup.procs";
    plan.cgroup_files.emplace_back(::open(file.c_str(), O_WRONLY | O_CLOEXEC));
    if (plan.cgroup_files.back()) child = clone_into(-1);
  }
  if (child < 0 && errno == ENOSYS) child = ::fork();
  if (child == 0) run_child(plan, report, parent);
  if (child < 0) error = {"cannot make a process", errno};
  return child;
}

}  // namespace

bool make_pipe(UniqueFd& read_end, UniqueFd& write_end) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return false;
  read_end.reset(ends[0]);
  write_end.reset(ends[1]);
  return true;
}

std::string find_in_path(const std::string& command, const std::string& search_path) {
  std::size_t begin = 0;
  while (begin <= search_path.size()) {
    std::size_t end = search_path.find(':', begin);
    if (end == std::string::npos) end = search_path.size();
    std::string candidate = search_path.substr(begin, end - begin) + '/' + command;

    struct stat status {};

    if (candidate.front() == '/' && ::stat(candidate.c_str(), &status) == 0
        && S_ISREG(status.st_mode) && (status.st_mode & 0111) != 0)
      return candidate;
    begin = end + 1;
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
  program.directory = start.getTaskDirectory().cStr();
  program.path = find_command(program.directory, start.getCommand().cStr(),
                              start.getSearchPath().cStr(), error);
  if (program.path.empty() || !open_outputs(start, program, launched, error)) return {};
  program.arguments.push_back(program.path);
  for (auto argument : start.getArguments())
    program.arguments.emplace_back(argument.cStr());
  launched.pid = launch_in(start, std::move(program), error);
  if (launched.pid == 0) return {};
  return launched;
}

pid_t launch_in(schema::executor::Start::Reader place, Program program, LaunchError& error) {
  Plan plan;
  plan.program = std::move(program);
  if (!open_cgroups(place, plan, error)) return 0;
  take_identity(place, plan);
  for (std::string& argument : plan.program.arguments)
    plan.arguments.push_back(argument.data());
  plan.arguments.push_back(nullptr);
  for (auto variable : place.getEnvironment())
    plan.environment.push_back(const_cast<char*>(variable.cStr()));
  plan.environment.push_back(nullptr);

  UniqueFd report, report_end;
  if (!make_pipe(report, report_end)) {
    error = {"cannot make a pipe", errno};
    return 0;
  }
  pid_t child = spawn(plan, place, report_end.get(), error);
  if (child < 0) return 0;
  report_end.reset();
  ChildError failure;
  ssize_t got = 0;
  do {
    got = ::read(report.get(), &failure, sizeof failure);
  } while (got < 0 && errno == EINTR);
  if (got == 0) return child;  // closed by a successful exec
  ::waitpid(child, nullptr, 0);
  bool executing = failure.step == execute;
  error = {std::string{step_names[failure.step]} + (executing ? " " : " for ") + plan.program.path,
           failure.error_number, executing};
  return 0;
}

}  // namespace nomad::host::executor
