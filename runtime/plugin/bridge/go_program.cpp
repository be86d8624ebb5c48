#include "runtime/plugin/bridge/go_program.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <optional>
#include <thread>

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include "runtime/host/process/spawn.hpp"
#include "runtime/plugin/bridge/shown.hpp"

namespace nomad::plugin::bridge {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr std::size_t longest_line = 16 * 1024;  ///< Longer ones are cut into several.
constexpr std::size_t most_early_lines = 200;
constexpr std::size_t longest_socket_directory = 80;

/// Its own environment, with what go-plugin's programs read.
std::vector<std::string> environment_of_program() {
  auto made = host::own_environment();
  made.push_back(fmt::format("{}={}", cookie_name, cookie_value));
  made.push_back(fmt::format("PLUGIN_PROTOCOL_VERSIONS={}", protocol_version));
  made.emplace_back("PLUGIN_MIN_PORT=10000");
  made.emplace_back("PLUGIN_MAX_PORT=25000");
  // Newer ones make their socket there. It is unlinked once it is connected.
  char directory[longest_socket_directory];
  if (::getcwd(directory, sizeof directory) != nullptr)
    made.push_back(fmt::format("PLUGIN_UNIX_SOCKET_DIR={}", directory));
  return made;
}

}  // namespace

Result<std::unique_ptr<GoProgram>> GoProgram::start(const std::vector<std::string>& words,
                                                    std::chrono::milliseconds patience) {
  std::unique_ptr<GoProgram> made{new GoProgram};
  if (auto spawned = made->spawn(words); !spawned) return spawned.error();
  if (auto shaken = made->shake_hands(patience); !shaken) return shaken.error();
  return made;
}

Result<> GoProgram::spawn(const std::vector<std::string>& words) {
  auto output = NOMAD_TRY(host::make_pipe());
  auto errors = NOMAD_TRY(host::make_pipe());
  auto spawned = NOMAD_TRY(
      host::spawn({.program = words.front(),
                   .arguments = {words.begin() + 1, words.end()},
                   .environment = environment_of_program(),
                   .descriptors = {{output.writing.get(), 1}, {errors.writing.get(), 2}},
                   .directory = "",
                   .group = host::ProcessGroup::callers,
                   .dies_with_thread = true}));
  pid_ = spawned.pid;
  process_ = std::move(spawned.process);
  output_.descriptor = std::move(output.reading);
  errors_.descriptor = std::move(errors.reading);
  for (const auto* each : {&output_, &errors_})
    ::fcntl(each->descriptor.get(), F_SETFL, O_NONBLOCK);
  return {};
}

/// Whole lines of what can be read now. False: nothing more comes.
bool GoProgram::read(Output& from, std::vector<std::string>& lines) const {
  char part[4096];
  bool goes_on = true;
  for (;;) {
    const auto got = ::read(from.descriptor.get(), part, sizeof part);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      goes_on = got < 0 && errno == EAGAIN;
      break;
    }
    from.rest.append(part, static_cast<std::size_t>(got));
    if (from.rest.size() > 4 * longest_line) break;
  }
  for (;;) {
    const auto end = from.rest.find('\n');
    if (end == std::string::npos && from.rest.size() <= longest_line
        && (goes_on || from.rest.empty()))
      return goes_on;
    const auto length = std::min({end, from.rest.size(), longest_line});
    lines.push_back(from.rest.substr(0, length));
    from.rest.erase(0, length + (length == end ? 1 : 0));
  }
}

Result<> GoProgram::shake_hands(std::chrono::milliseconds patience) {
  const auto end = Clock::now() + patience;
  bool has_errors = true;  // What is closed is ready for ever: it is not waited for.
  for (;;) {
    std::vector<std::string> said;
    const bool goes_on = read(output_, said);
    has_errors = has_errors && read(errors_, early_);
    if (early_.size() > most_early_lines) early_.resize(most_early_lines);
    if ((said.empty() ? output_.rest : said.front()).size() > longest_handshake)
      return Error{Errc::rejected,
                   "it is no plugin of Nomad's: it prints something else than a handshake"};
    if (!said.empty()) {
      auto read = read_handshake(said.front());
      if (!read) return read.error();
      handshake_ = std::move(*read);
      return {};
    }
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
    if (left.count() <= 0)
      return Error{Errc::timeout, fmt::format("it has printed no handshake within {} s",
                                              std::chrono::duration<double>{patience}.count())};
    pollfd waits[] = {{goes_on ? output_.descriptor.get() : -1, POLLIN, 0},
                      {has_errors ? errors_.descriptor.get() : -1, POLLIN, 0},
                      {process_.get(), POLLIN, 0}};
    ::poll(waits, 3, static_cast<int>(left.count()));
    if (waits[2].revents == 0 || (waits[0].revents & POLLIN) != 0) continue;
    return Error{Errc::rejected,
                 fmt::format("it is no plugin of Nomad's, or can't run here: it {} before it "
                             "printed a handshake{}",
                             reap(), last_words())};
  }
}

/// What it wrote last, which often is why it has ended.
std::string GoProgram::last_words() {
  read(errors_, early_);
  if (!errors_.rest.empty()) early_.push_back(errors_.rest);
  for (const auto& line : early_)
    if (is_panic(line)) return ": " + shown(line, 300);
  constexpr std::size_t most = 3;
  std::string all;
  for (std::size_t i = early_.size() > most ? early_.size() - most : 0; i < early_.size(); ++i)
    all += (all.empty() ? ": " : " / ") + shown(read_log_line(early_[i]).text, 300);
  return all;
}

std::string GoProgram::reap() const {
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status)) return fmt::format("was killed by signal {}", WTERMSIG(status));
  return fmt::format("exited with status {}", WEXITSTATUS(status));
}

void GoProgram::watch(Heard heard) {
  // It lives as long as the process: nobody waits for it.
  std::thread{[this, heard = std::move(heard)] { listen(heard); }}.detach();
}

void GoProgram::listen(const Heard& heard) {
  auto lines = std::exchange(early_, {});
  bool has_output = true, has_errors = true;
  for (;;) {
    for (const auto& line : std::exchange(lines, {}))
      if (!line.empty()) heard.line(read_log_line(line));
    pollfd waits[] = {{has_output ? output_.descriptor.get() : -1, POLLIN, 0},
                      {has_errors ? errors_.descriptor.get() : -1, POLLIN, 0},
                      {process_.get(), POLLIN, 0}};
    if (::poll(waits, 3, -1) < 0 && errno != EINTR) return;
    if (waits[0].revents != 0) has_output = read(output_, lines);
    if (waits[1].revents != 0) has_errors = read(errors_, lines);
    if (waits[2].revents == 0) continue;
    read(errors_, lines);
    for (const auto& line : lines)
      if (!line.empty()) heard.line(read_log_line(line));
    return heard.ended(reap());
  }
}

void GoProgram::kill() const {
  if (pid_ > 0) ::kill(pid_, SIGKILL);
}

bool GoProgram::wait(std::chrono::milliseconds patience) const {
  pollfd wait{process_.get(), POLLIN, 0};
  return ::poll(&wait, 1, static_cast<int>(patience.count())) == 1;
}

GoProgram::~GoProgram() {
  if (pid_ > 0) ::kill(pid_, SIGKILL);
}

}  // namespace nomad::plugin::bridge
