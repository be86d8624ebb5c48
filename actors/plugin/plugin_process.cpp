#include "actors/plugin/plugin_process.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <mutex>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>
#include <spawn.h>

#include "actors/plugin/allowance.hpp"
#include "runtime/base/log.hpp"
#include "runtime/host/process/pointers.hpp"
#include "runtime/host/process/spawn_settings.hpp"
#include "runtime/host/process/unique_fd.hpp"
#include "runtime/plugin/host/confine.hpp"

namespace nomad::plugin {
namespace {

constexpr std::size_t read_bytes = 64 * 1024;
constexpr std::size_t most_line_bytes = 4096;
constexpr int above_those_of_plugin = 10;

using EndsOfPair = std::pair<net::Descriptor, net::Descriptor>;

/// Ours and the plugin's.
Result<EndsOfPair> make_pair_of_sockets() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return errno_error("making a socket pair", errno);
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return EndsOfPair{net::Descriptor{ends[0]}, net::Descriptor{ends[1]}};
}

/// No more of the agent's environment than programs need.
std::vector<std::string> environment_of_plugins() {
  std::vector<std::string> made{
      "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"};
  for (const char* name : {"LANG", "LC_ALL", "TZ", "HOME", "LD_LIBRARY_PATH", "PYTHONPATH"})
    if (const char* value = ::getenv(name)) made.push_back(fmt::format("{}={}", name, value));
  return made;
}

/// The descriptor under a number that none of the plugin's has.
Result<host::UniqueFd> lifted(int descriptor) {
  host::UniqueFd made{::fcntl(descriptor, F_DUPFD_CLOEXEC, above_those_of_plugin)};
  if (!made) return errno_error("copying a descriptor", errno);
  return made;
}

/// A file in memory that has the bytes.
Result<host::UniqueFd> file_of(const std::string& bytes) {
  const host::UniqueFd file{::memfd_create("calls", MFD_CLOEXEC)};
  if (!file) return errno_error("making a file in memory", errno);
  if (::write(file.get(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()))
    return errno_error("writing a file in memory", errno);
  return lifted(file.get());
}

Result<pid_t> spawn_process(const ProcessOptions& options, int given_socket, int given_output) {
  const auto socket = NOMAD_TRY(lifted(given_socket));
  const auto output = NOMAD_TRY(lifted(given_output));
  host::UniqueFd filter;
  if (!options.call_filter.empty()) filter = NOMAD_TRY(file_of(options.call_filter));
  host::SpawnSettings settings;
  sigset_t none, all;
  ::sigemptyset(&none);
  ::sigfillset(&all);
  int error = 0;
  const auto keep = [&error](int outcome) { error = error != 0 ? error : outcome; };
  keep(::posix_spawn_file_actions_addopen(&settings.actions, 0, "/dev/null", O_RDONLY, 0));
  keep(::posix_spawn_file_actions_adddup2(&settings.actions, output.get(), 1));
  keep(::posix_spawn_file_actions_adddup2(&settings.actions, output.get(), 2));
  keep(::posix_spawn_file_actions_adddup2(&settings.actions, socket.get(), agent_socket));
  if (filter)
    keep(::posix_spawn_file_actions_adddup2(&settings.actions, filter.get(), filter_descriptor));
  keep(::posix_spawn_file_actions_addchdir_np(&settings.actions, options.directory.c_str()));
  keep(::posix_spawnattr_setsigmask(&settings.attributes, &none));
  keep(::posix_spawnattr_setsigdefault(&settings.attributes, &all));
  keep(::posix_spawnattr_setpgroup(&settings.attributes, 0));
  keep(::posix_spawnattr_setflags(&settings.attributes, POSIX_SPAWN_SETPGROUP
                                                            | POSIX_SPAWN_SETSIGMASK
                                                            | POSIX_SPAWN_SETSIGDEF));
  std::vector<std::string> words{options.program};
  words.insert(words.end(), options.arguments.begin(), options.arguments.end());
  const auto arguments = host::pointers_to(words);
  const auto texts = environment_of_plugins();
  const auto environment = host::pointers_to(texts);
  pid_t pid = 0;
  if (error == 0)
    error = ::posix_spawn(&pid, options.program.c_str(), &settings.actions, &settings.attributes,
                          arguments.data(), environment.data());
  if (error != 0) return errno_error("starting " + options.program, error);
  if (options.memory_bytes > 0) {
    const rlimit bound{options.memory_bytes, RLIM_INFINITY};
    if (::prlimit(pid, RLIMIT_DATA, &bound, nullptr) != 0)
      log::warn("plugin", "the memory of process {} is not bounded: {}", pid, std::strerror(errno));
  }
  return pid;
}

}  // namespace

// -- the sockets ----------------------------------------------------------------------------------

class PluginProcess::Core : public std::enable_shared_from_this<Core> {
public:
  Core(std::shared_ptr<PluginLoop> of, ProcessOptions given, ProcessEvents told)
      : loop{std::move(of)}, options{std::move(given)}, events{std::move(told)} {}

  void start();
  void end(const Error& why);

  std::shared_ptr<PluginLoop> loop;
  ProcessOptions options;
  ProcessEvents events;
  std::atomic<bool> forgotten{false};  ///< Nobody wants to hear of it any more.

  // On the loop's thread.
  class Talk;
  class Lines;
  std::shared_ptr<Talk> talk;
  std::shared_ptr<Lines> lines;
  bool ended = false;

  // On any thread.
  std::mutex guard;
  pid_t pid = 0;              ///< 0: there is no process, or it has been reaped.
  bool ends_children = true;  ///< Its group is killed with it.

  void kill_process() {
    const std::lock_guard lock{guard};
    send_kill();
  }

  /// It is dead, and not reaped.
  bool has_ended() {
    const std::lock_guard lock{guard};
    siginfo_t end{};
    return pid > 0
           && ::waitid(P_PID, static_cast<id_t>(pid), &end, WEXITED | WNOHANG | WNOWAIT) == 0
           && end.si_pid != 0;
  }

  void send_kill() const {
    if (pid > 0) ::kill(ends_children ? -pid : pid, SIGKILL);
  }
};

/// The frames.
class PluginProcess::Core::Talk final : public net::StreamSocket {
public:
  Talk(Core& core, net::Descriptor socket)
      : StreamSocket{*core.loop, std::move(socket)}, core_{core.weak_from_this()} {}

  void begin() { open(); }

  void send(const std::string& frame) {
    if (is_closed()) return;
    if (output().size() + frame.size() > most_output)
      return fail({Errc::overloaded,
                   fmt::format("it does not read: more than {} bytes wait for it", most_output)});
    output().text() += frame;
    flush_soon();
  }

  void handled(std::size_t bytes) {
    if (is_closed()) return;
    open_bytes_ -= std::min(bytes, open_bytes_);
    read_on();
  }

  void fail(const Error& why) {
    close();
    if (const auto core = core_.lock()) core->end(why);
  }

  void close() { close_socket(); }

  /// Somebody else may hold the socket's other end: a child that the plugin has forked.
  void check(Clock::time_point) override {
    const auto core = core_.lock();
    if (!core || !core->has_ended()) return;
    if (std::exchange(has_ended_, true)) fail({Errc::unavailable, "its process ended"});
  }

private:
  void on_open() override { read_on(); }

  bool wants_input() const override { return open_bytes_ < input_window; }

  void on_input(std::string_view bytes) override {
    const auto core = core_.lock();
    if (!core) return close();
    const auto outcome = splitter_.add(bytes, [&](Frame frame, std::size_t size) {
      open_bytes_ += size;
      if (!core->forgotten) core->events.frame(std::move(frame), size);
    });
    if (!outcome) fail(outcome.error());
  }

  void on_input_end() override { fail({Errc::unavailable, "it hung up"}); }

  void on_failure(const Error& why) override { fail(why); }

  std::weak_ptr<Core> core_;
  FrameSplitter splitter_;
  std::size_t open_bytes_ = 0;
  bool has_ended_ = false;  ///< The process, a tick ago: what it has said is read meanwhile.
};

/// What it writes to its standard output and error: so many lines, and no more bytes a tick than
/// that, for each is a message to an actor.
class PluginProcess::Core::Lines final : public net::StreamSocket {
public:
  Lines(Core& core, net::Descriptor socket)
      : StreamSocket{*core.loop, std::move(socket)}, core_{core.weak_from_this()} {}

  void begin() { open(); }

  void close() { close_socket(); }

  void check(Clock::time_point) override {
    const auto core = core_.lock();
    if (dropped_ > 0 && core && !core->forgotten) core->events.line({}, std::exchange(dropped_, 0));
    read_ = 0;
    read_on();
  }

private:
  static constexpr std::size_t most_bytes_a_tick = std::size_t{4} << 20;

  void on_open() override { read_on(); }

  bool wants_input() const override { return read_ < most_bytes_a_tick; }

  void on_input(std::string_view bytes) override {
    read_ += bytes.size();
    while (!bytes.empty()) {
      const auto end = bytes.find('\n');
      const auto part = bytes.substr(0, end);
      rest_.append(part.substr(0, most_line_bytes - std::min(rest_.size(), most_line_bytes)));
      if (end == std::string_view::npos) return;
      tell();
      bytes.remove_prefix(end + 1);
    }
  }

  void tell() {
    auto line = std::exchange(rest_, {});
    if (line.empty()) return;
    const auto core = core_.lock();
    if (!core || core->forgotten) return;
    if (allowance_.take(Clock::now().time_since_epoch()))
      core->events.line(std::move(line), std::exchange(dropped_, 0));
    else
      ++dropped_;
  }

  void on_input_end() override {
    tell();
    close();
  }

  void on_failure(const Error&) override { close(); }

  std::weak_ptr<Core> core_;
  std::string rest_;  ///< Of a line whose end has not come; what is too long of it is left out.
  std::size_t read_ = 0;
  std::uint64_t dropped_ = 0;
  Allowance allowance_{400, 200};
};

void PluginProcess::Core::start() {
  std::erase_if(loop->orphans, [](int orphan) { return ::waitpid(orphan, nullptr, WNOHANG) != 0; });
  if (forgotten) return;
  auto sockets = make_pair_of_sockets();
  auto texts = make_pair_of_sockets();
  if (!sockets || !texts) return end((sockets ? texts.error() : sockets.error()));
  const auto started = spawn_process(options, sockets->second.fd, texts->second.fd);
  if (!started) return end(started.error());
  {
    const std::lock_guard lock{guard};
    pid = *started;
  }
  events.started(*started);
  talk = std::make_shared<Talk>(*this, std::move(sockets->first));
  lines = std::make_shared<Lines>(*this, std::move(texts->first));
  if (loop->add(lines)) lines->begin();
  if (loop->add(talk)) talk->begin();
}

void PluginProcess::Core::end(const Error& why) {
  if (std::exchange(ended, true)) return;
  if (talk) talk->close();
  if (!forgotten) events.ended(why);
}

PluginLoop::PluginLoop() : net::SocketLoop{read_bytes, std::chrono::seconds{1}} {}

void PluginLoop::stop_all() {
  stop([](net::StreamSocket& socket) {
    if (auto* const talk = dynamic_cast<PluginProcess::Core::Talk*>(&socket)) return talk->close();
    if (auto* const lines = dynamic_cast<PluginProcess::Core::Lines*>(&socket)) lines->close();
  });
}

PluginProcess::PluginProcess(std::shared_ptr<PluginLoop> loop,
                             ProcessOptions options,
                             ProcessEvents events)
    : core_{std::make_shared<Core>(std::move(loop), std::move(options), std::move(events))} {
  core_->loop->post([core = core_] { core->start(); });
}

PluginProcess::~PluginProcess() {
  core_->forgotten = true;
  core_->loop->post([core = core_] {
    if (core->talk) core->talk->close();
    if (core->lines) core->lines->close();
    core->kill_process();
    if (core->pid > 0) core->loop->orphans.push_back(core->pid);
  });
}

void PluginProcess::send(std::string frame) {
  core_->loop->post([core = core_, frame = std::move(frame)] {
    if (core->talk && !core->ended) core->talk->send(frame);
  });
}

void PluginProcess::handled(std::size_t bytes) {
  core_->loop->post([core = core_, bytes] {
    if (core->talk && !core->ended) core->talk->handled(bytes);
  });
}

void PluginProcess::kill() {
  core_->loop->post([core = core_] {
    core->kill_process();
    core->end({Errc::cancelled, "it was ended"});
  });
}

void PluginProcess::has_drivers(bool has_some) {
  const std::lock_guard lock{core_->guard};
  core_->ends_children = !has_some;
  const auto bytes = core_->options.memory_bytes;
  if (core_->pid <= 0 || bytes == 0) return;
  const rlimit bound = has_some ? rlimit{RLIM_INFINITY, RLIM_INFINITY} : rlimit{bytes, bytes};
  if (::prlimit(core_->pid, RLIMIT_DATA, &bound, nullptr) != 0 && errno != ESRCH)
    log::warn("plugin", "the memory of process {}: {}", core_->pid, std::strerror(errno));
}

std::string PluginProcess::reap(bool kill) {
  const std::lock_guard lock{core_->guard};
  if (core_->pid == 0) return "it never ran";
  siginfo_t end{};
  const auto seen
      = ::waitid(P_PID, static_cast<id_t>(core_->pid), &end, WEXITED | WNOHANG | WNOWAIT);
  const bool runs = seen == 0 && end.si_pid == 0;
  // Its group while its number is still its own.
  if (seen == 0 && (kill || (!runs && core_->ends_children))) core_->send_kill();
  if (runs) return {};
  int status = 0;
  const auto got = ::waitpid(core_->pid, &status, WNOHANG);
  core_->pid = 0;
  if (got < 0) return "its end is unknown";
  if (WIFSIGNALED(status)) return fmt::format("killed by signal {}", WTERMSIG(status));
  return fmt::format("exited with status {}", WEXITSTATUS(status));
}

}  // namespace nomad::plugin
