#include "runtime/host/executor/state_file.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "runtime/base/whole_number.hpp"
#include "runtime/host/process/unique_fd.hpp"

namespace nomad::host::executor {

namespace {

constexpr std::string_view magic = "nomadctl-executor 1";
constexpr const char* new_state_file = "state.new";

/// The last line: of a number with a flipped bit nobody would see it. FNV-1a, for the executor
/// links nothing.
std::string sum_line(std::string_view lines) {
  std::uint64_t sum = 0xcbf2'9ce4'8422'2325;
  for (const char letter : lines)
    sum = (sum ^ static_cast<unsigned char>(letter)) * 0x0000'0100'0000'01b3;
  return "sum " + std::to_string(sum) + '\n';
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    std::size_t end = text.find(separator);
    words.push_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return words;
}

bool parse_line(std::string_view line, RunState& state) {
  constexpr std::string_view run = "run ";
  if (line.starts_with(run)) {
    state.run_id = line.substr(run.size());
    return is_run_id(state.run_id);
  }
  const auto words = split(line, ' ');
  if (words.size() == 5 && words[0] == "process") {
    state.process.boot_id = words[3];
    return read_whole_number(words[1], state.process.pid)
           && read_whole_number(words[2], state.process.start_ticks)
           && read_whole_number(words[4], state.started_at);
  }
  if (words.size() == 5 && words[0] == "exit") {
    ExitStatus status;
    int oom = 0;
    if (!read_whole_number(words[1], status.code) || !read_whole_number(words[2], status.signal)
        || !read_whole_number(words[3], oom) || !read_whole_number(words[4], status.finished_at))
      return false;
    status.oom_killed = oom != 0;
    state.exit = status;
    return true;
  }
  return false;
}

}  // namespace

bool is_run_id(std::string_view text) {
  constexpr std::size_t longest = 400;  // A task's name is that of its log, too: at most 240 bytes.
  return !text.empty() && text.size() <= longest && std::ranges::none_of(text, [](char c) {
    return static_cast<unsigned char>(c) < ' ' || c == 127;
  });
}

std::string to_text(const RunState& state) {
  std::string text{magic};
  text += '\n';
  if (!state.run_id.empty()) text += "run " + state.run_id + '\n';
  if (state.process.pid != 0) {
    text += "process " + std::to_string(state.process.pid) + ' '
            + std::to_string(state.process.start_ticks) + ' ' + state.process.boot_id + ' '
            + std::to_string(state.started_at) + '\n';
  }
  if (state.exit) {
    text += "exit " + std::to_string(state.exit->code) + ' ' + std::to_string(state.exit->signal)
            + (state.exit->oom_killed ? " 1 " : " 0 ") + std::to_string(state.exit->finished_at)
            + '\n';
  }
  return text + sum_line(text);
}

std::optional<RunState> parse_run_state(std::string_view text) {
  RunState state;
  if (text.empty()) return state;
  if (text.back() != '\n') return std::nullopt;
  std::vector<std::string_view> lines = split(text, '\n');
  if (lines.front() != magic) return std::nullopt;
  if (lines.back().starts_with("sum ")) {  // earlier releases wrote none
    const auto before = text.size() - lines.back().size() - 1;
    if (text.substr(before) != sum_line(text.substr(0, before))) return std::nullopt;
    lines.pop_back();
  }
  for (std::size_t i = 1; i < lines.size(); ++i) {
    if (!parse_line(lines[i], state)) return std::nullopt;
  }
  return state;
}

int write_state(int directory, const RunState& state, bool durable) {
  std::string text = to_text(state);
  UniqueFd file{::openat(directory, new_state_file,
                         O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600)};
  if (!file) return errno;
  ssize_t written = ::write(file.get(), text.data(), text.size());
  if (written < 0) return errno;
  if (static_cast<std::size_t>(written) != text.size()) return ENOSPC;
  if (durable && ::fsync(file.get()) != 0) return errno;
  if (::renameat(directory, new_state_file, directory, state_file) != 0) return errno;
  if (durable && ::fsync(directory) != 0) return errno;
  return 0;
}

std::optional<RunState> read_state(int directory) {
  UniqueFd file{::openat(directory, state_file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)};
  if (!file) return errno == ENOENT ? std::optional<RunState>{RunState{}} : std::nullopt;
  std::array<char, 1024> buffer;
  ssize_t got = ::read(file.get(), buffer.data(), buffer.size());
  if (got <= 0 || static_cast<std::size_t>(got) == buffer.size()) return std::nullopt;
  return parse_run_state({buffer.data(), static_cast<std::size_t>(got)});
}

}  // namespace nomad::host::executor
