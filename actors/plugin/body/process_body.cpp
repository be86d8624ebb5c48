// A plugin in a process of its own.
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <mutex>
#include <utility>

#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include "actors/plugin/body/plugin_body.hpp"
#include "runtime/base/text.hpp"
#include "runtime/host/process/memory_bound.hpp"
#include "runtime/host/process/run_program.hpp"
#include "runtime/host/process/spawn.hpp"
#include "runtime/host/process/unique_fd.hpp"
#include "runtime/plugin/process/confine.hpp"

namespace nomad::plugin {
namespace {

constexpr auto bound_patience = std::chrono::seconds{5};

/// No more of the agent's environment than programs need.
std::vector<std::string> environment_of_plugins() {
  std::vector<std::string> made{
      "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"};
  for (const char* name : {"LANG", "LC_ALL", "TZ", "HOME", "LD_LIBRARY_PATH", "PYTHONPATH"})
    if (const char* value = ::getenv(name)) made.push_back(fmt::format("{}={}", name, value));
  return made;
}

Result<pid_t> spawn_process(const ProcessOptions& options, int socket, int output) {
  host::SpawnOptions wanted{.program = options.program,
                            .arguments = options.arguments,
                            .environment = environment_of_plugins(),
                            .descriptors = {{output, 1}, {output, 2}, {socket, agent_socket}},
                            .directory = options.directory};
  host::UniqueFd filter;
  if (!options.call_filter.empty()) {
    filter = NOMAD_TRY(host::memory_file(options.call_filter));
    wanted.descriptors.emplace_back(filter.get(), filter_descriptor);
  }
  const auto spawned = NOMAD_TRY(host::spawn(wanted));
  return spawned.pid;
}

class ProcessBody final : public PluginBody {
public:
  explicit ProcessBody(ProcessOptions options) : options_{std::move(options)} {}

  Result<> start(int socket, int output) override {
    const auto started = NOMAD_TRY(spawn_process(options_, socket, output));
    const std::lock_guard lock{guard_};
    pid_ = started;
    return {};
  }

  int pid() override {
    const std::lock_guard lock{guard_};
    return pid_;
  }

  void kill() override {
    const std::lock_guard lock{guard_};
    send_kill();
  }

  bool has_ended() override {
    const std::lock_guard lock{guard_};
    return is_over();
  }

  Result<> has_drivers(bool has_some) override {
    const std::lock_guard lock{guard_};
    ends_children_ = !has_some;
    if (pid_ <= 0 || options_.memory_bytes == 0) return {};
    const host::MemoryBound wanted{.bytes = has_some ? 0 : options_.memory_bytes,
                                   .for_good = !has_some};
    auto bound = host::bound_memory(pid_, wanted);
    if (!bound && bound.error().code == Errc::rejected && !options_.user.empty())
      bound = bound_as_its_user(wanted);
    if (bound || is_over()) return {};  // of one that has ended nothing is left to bound
    return bound.error().within(has_some ? "the bound of its memory can't be lifted for its tasks"
                                         : "its memory can't be bounded");
  }

  std::string reap(bool kill) override {
    const std::lock_guard lock{guard_};
    if (pid_ == 0) return "it never ran";
    siginfo_t end{};
    const auto seen = ::waitid(P_PID, static_cast<id_t>(pid_), &end, WEXITED | WNOHANG | WNOWAIT);
    const bool runs = seen == 0 && end.si_pid == 0;
    // Its group while its number is still its own.
    if (seen == 0 && (kill || (!runs && ends_children_))) send_kill();
    if (runs) return {};
    int status = 0;
    const auto got = ::waitpid(pid_, &status, WNOHANG);
    pid_ = 0;
    if (got < 0) return "its end is unknown";
    if (WIFSIGNALED(status)) return fmt::format("killed by signal {}", WTERMSIG(status));
    return fmt::format("exited with status {}", WEXITSTATUS(status));
  }

private:
  bool is_over() const {
    siginfo_t end{};
    return pid_ > 0
           && ::waitid(P_PID, static_cast<id_t>(pid_), &end, WEXITED | WNOHANG | WNOWAIT) == 0
           && end.si_pid != 0;
  }

  /// The process is not reaped: its number is its own.
  Result<> bound_as_its_user(const host::MemoryBound& wanted) const {
    host::ProgramRun run{.program = options_.program,
                         .arguments = {"--bound", std::to_string(pid_), "--user", options_.user},
                         .environment = {},
                         .timeout = bound_patience};
    if (wanted.bytes > 0)
      run.arguments.insert(run.arguments.end(), {"--memory", std::to_string(wanted.bytes)});
    const auto ended = NOMAD_TRY(host::run_program(run));
    if (ended.exit_code == 0) return {};
    return Error{Errc::rejected,
                 ended.errors.empty()
                     ? fmt::format("nomadctl-plugin-host has ended with status {}", ended.exit_code)
                     : std::string{trim(ended.errors)}};
  }

  void send_kill() const {
    if (pid_ > 0) ::kill(ends_children_ ? -pid_ : pid_, SIGKILL);
  }

  ProcessOptions options_;
  std::mutex guard_;
  pid_t pid_ = 0;              ///< 0: there is no process, or it has been reaped.
  bool ends_children_ = true;  ///< Its group is killed with it.
};

}  // namespace

std::unique_ptr<PluginBody> process_body(ProcessOptions options) {
  return std::make_unique<ProcessBody>(std::move(options));
}

}  // namespace nomad::plugin
