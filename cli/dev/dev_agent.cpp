#include "cli/dev/dev_agent.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include "cli/new_file.hpp"
#include "cli/programs.hpp"

namespace nomad::cli::dev {
namespace {

namespace fs = std::filesystem;

/// What of the agent's output is kept, to be shown if it ends.
constexpr std::size_t most_said = 8192;
constexpr std::uint64_t enough_memory = std::uint64_t{64} << 20;
constexpr std::string_view up = "agent started!";
using Ports = std::array<std::uint16_t, 3>;  ///< http, rpc, serf
constexpr Ports usual_ports{4646, 4647, 4648};

/// A socket at the port of the loopback interface; none if it is taken.
host::UniqueFd bind_loopback(std::uint16_t port) {
  host::UniqueFd made{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  const int on = 1;
  ::setsockopt(made.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(port);
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::bind(made.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0) return {};
  return made;
}

std::uint16_t port_of(const host::UniqueFd& bound) {
  sockaddr_in at{};
  socklen_t size = sizeof at;
  if (::getsockname(bound.get(), reinterpret_cast<sockaddr*>(&at), &size) != 0) return 0;
  return ntohs(at.sin_port);
}

/// Those that agents have as a rule if all are free, else any. They are free a moment later, too,
/// unless somebody is quicker, which the agent then says.
Result<Ports> choose_ports() {
  for (const bool usual : {true, false}) {
    std::array<host::UniqueFd, 3> held;
    Ports ports{};
    for (std::size_t i = 0; i < ports.size(); ++i) {
      held[i] = bind_loopback(usual ? usual_ports[i] : 0);
      if (held[i].get() < 0) break;
      ports[i] = port_of(held[i]);
    }
    if (ports.back() != 0) return ports;
  }
  return errno_error("finding free ports", errno);
}

/// Where files are in memory, if there is room.
std::string place_in_memory() {
  struct statvfs room {};

  const std::string location = "/dev/shm";
  const bool has_room = ::statvfs(location.c_str(), &room) == 0
                        && ::access(location.c_str(), W_OK) == 0
                        && std::uint64_t{room.f_bavail} * room.f_bsize >= enough_memory;
  return has_room ? location : "/tmp";
}

std::vector<std::string> words_of(const DevAgentOptions& options,
                                  const std::string& config,
                                  const OwnDirectory& state,
                                  const OwnDirectory& tasks) {
  std::vector<std::string> words{"agent",
                                 "-dev",
                                 "-config=" + config,
                                 "-data-dir=" + state.path(),
                                 "-alloc-dir=" + tasks.path(),
                                 "-log-level=" + options.log_level};
  for (const auto& [flag, value] : {std::pair{"-region=", options.region},
                                    {"-dc=", options.datacenter},
                                    {"-node-pool=", options.node_pool}})
    if (!value.empty()) words.push_back(flag + value);
  return words;
}

}  // namespace

Result<OwnDirectory> OwnDirectory::make(const std::string& location) {
  auto name = location + "/nomadctl-dev-XXXXXX";
  if (::mkdtemp(name.data()) == nullptr)
    return errno_error("creating a directory below " + location, errno);
  OwnDirectory made{name};
  constexpr mode_t passable = 0711;
  if (::chmod(name.c_str(), passable) != 0) return errno_error(name, errno);
  return made;
}

OwnDirectory::OwnDirectory(OwnDirectory&& other) noexcept : path_{std::exchange(other.path_, {})} {}

OwnDirectory::~OwnDirectory() {
  std::error_code failure;  // below a directory that is cleaned anyway
  if (!path_.empty()) fs::remove_all(path_, failure);
}

Result<DevAgent> DevAgent::start(const DevAgentOptions& options) {
  auto state = NOMAD_TRY(OwnDirectory::make(place_in_memory()));
  auto tasks = NOMAD_TRY(OwnDirectory::make("/tmp"));
  const auto ports = NOMAD_TRY(choose_ports());
  const auto config = tasks.path() + "/agent.hcl";
  NOMAD_TRY(write_new(config, fmt::format("ports {{\n  http = {}\n  rpc  = {}\n  serf = {}\n}}\n",
                                          ports[0], ports[1], ports[2])));
  auto pipe = NOMAD_TRY(host::make_pipe());
  host::SpawnOptions child;
  child.program = NOMAD_TRY(own_path());
  child.arguments = words_of(options, config, state, tasks);
  child.environment = environment_without_secrets();
  child.descriptors = {{pipe.writing.get(), 1}, {pipe.writing.get(), 2}};
  // In a group of its own, so that Ctrl-C is not for it. It ends in order if this program is
  // killed.
  child.enter = [] { return ::prctl(PR_SET_PDEATHSIG, SIGTERM) == 0; };
  auto running = NOMAD_TRY(host::spawn(child).within("starting the agent"));
  if (::fcntl(pipe.reading.get(), F_SETFL, O_NONBLOCK) != 0)
    return errno_error("the agent's output", errno);
  DevAgent made{std::move(state), std::move(tasks), std::move(running), std::move(pipe.reading)};
  made.address_ = fmt::format("http://127.0.0.1:{}", ports[0]);
  return made;
}

DevAgent::~DevAgent() {
  if (running_.process.get() < 0) return;  // moved from, or reaped
  constexpr int patience_ms = 10'000;
  end(false);
  pollfd ended{running_.process.get(), POLLIN, 0};
  if (::poll(&ended, 1, patience_ms) != 1) end(true);
  reap();
}

bool DevAgent::take_output() {
  std::array<char, 4096> piece{};
  for (;;) {
    const auto got = ::read(output_.get(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got == 0) output_ = {};
    if (got <= 0) break;
    said_.append(piece.data(), static_cast<std::size_t>(got));
  }
  const bool is_new = !is_up_ && said_.find(up) != std::string::npos;
  is_up_ = is_up_ || is_new;
  if (said_.size() > most_said) said_.erase(0, said_.size() - most_said);
  return is_new;
}

void DevAgent::end(bool at_once) const {
  ::kill(running_.pid, at_once ? SIGKILL : SIGTERM);
}

void DevAgent::reap() {
  int status = 0;
  while (::waitpid(running_.pid, &status, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace nomad::cli::dev
