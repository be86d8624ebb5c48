#include "runtime/host/process/process_id.hpp"

#include <array>

#include <fcntl.h>
#include <unistd.h>

#include "runtime/base/whole_number.hpp"
#include "runtime/host/process/unique_fd.hpp"

namespace nomad::host {

namespace {

bool parse_number(std::string_view text, std::uint64_t& number) {
  // Negative fields (priorities, a session of -1) are of no interest, but must not fail the rest.
  if (!text.empty() && text.front() == '-') {
    number = 0;
    return true;
  }
  return read_whole_number(text, number);
}

}  // namespace

std::string read_proc_file(const std::string& path) {
  constexpr std::size_t limit = 1 << 20;
  UniqueFd file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  std::string content;
  if (!file) return content;
  std::array<char, 4096> buffer;
  while (content.size() < limit) {
    ssize_t got = ::read(file.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    content.append(buffer.data(), static_cast<std::size_t>(got));
  }
  return content;
}

bool parse_process_stat(std::string_view text, ProcessStat& stat) {
  std::size_t open = text.find('('), close = text.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open || open < 2
      || close + 2 >= text.size())
    return false;
  std::uint64_t pid = 0;
  if (!parse_number(text.substr(0, open - 1), pid)) return false;
  stat.pid = static_cast<pid_t>(pid);

  // Fields are numbered as in proc(5); the state is the third.
  std::string_view rest = text.substr(close + 2);
  for (int field = 3; field <= 24; ++field) {
    std::size_t end = rest.find_first_of(" \n");
    std::string_view word = rest.substr(0, end);
    if (word.empty()) return false;
    std::uint64_t number = 0;
    if (field == 3) {
      stat.state = word.front();
    } else if (!parse_number(word, number)) {
      return false;
    }
    if (field == 4) stat.parent = static_cast<pid_t>(number);
    if (field == 6) stat.session = static_cast<pid_t>(number);
    if (field == 14) stat.user_ticks = number;
    if (field == 15) stat.system_ticks = number;
    if (field == 22) stat.start_ticks = number;
    if (field == 24) stat.rss_pages = number;
    if (end == std::string_view::npos) return field == 24;
    rest.remove_prefix(end + 1);
  }
  return true;
}

std::string boot_id() {
  std::string id = read_proc_file("/proc/sys/kernel/random/boot_id");
  while (!id.empty() && id.back() == '\n')
    id.pop_back();
  return id;
}

ProcessId identify(pid_t pid) {
  ProcessStat stat;
  if (!parse_process_stat(read_proc_file("/proc/" + std::to_string(pid) + "/stat"), stat))
    return {pid, 0, boot_id()};
  return {pid, stat.start_ticks, boot_id()};
}

bool is_alive(const ProcessId& process) {
  if (process.pid <= 0 || process.boot_id != boot_id()) return false;
  ProcessStat stat;
  if (!parse_process_stat(read_proc_file("/proc/" + std::to_string(process.pid) + "/stat"), stat))
    return false;
  return stat.start_ticks == process.start_ticks && stat.state != 'Z' && stat.state != 'X';
}

}  // namespace nomad::host
