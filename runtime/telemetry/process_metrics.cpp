#include "runtime/telemetry/process_metrics.hpp"

#include <cstdint>
#include <sstream>
#include <string_view>
#include <system_error>

#include <sys/resource.h>
#include <unistd.h>

#include <malloc.h>

#include "runtime/base/files/bounded.hpp"

namespace nomad::telemetry {
namespace {

std::string content_of(const char* path) {
  return read_whole_file(path).value_or("");
}

/// Of /proc/self/stat; zeros when it can't be read.
struct Stat {
  double cpu_seconds = 0;
  double start_seconds = 0;  ///< Since the machine's start.
  double virtual_bytes = 0;
  double resident_bytes = 0;
};

Stat read_stat() {
  const auto line = content_of("/proc/self/stat");
  const auto name_end = line.rfind(')');  // the name may hold anything
  if (name_end == std::string::npos) return {};
  std::istringstream fields{line.substr(name_end + 1)};
  std::string skipped;
  const auto skip = [&](int count) {
    while (count-- > 0)
      fields >> skipped;
  };
  const auto ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
  double user = 0;
  double system = 0;
  double started = 0;
  double pages = 0;
  Stat stat;
  skip(11);
  fields >> user >> system;
  skip(6);
  fields >> started >> stat.virtual_bytes >> pages;
  stat.cpu_seconds = (user + system) / ticks;
  stat.start_seconds = started / ticks;
  stat.resident_bytes = pages * static_cast<double>(::sysconf(_SC_PAGESIZE));
  return stat;
}

/// When the machine started, in seconds since 1970.
double boot_seconds() {
  constexpr std::string_view mark = "\nbtime ";
  const auto content = content_of("/proc/stat");
  const auto at = content.find(mark);
  if (at == std::string::npos) return 0;
  double seconds = 0;
  std::istringstream{content.substr(at + mark.size())} >> seconds;
  return seconds;
}

double open_files() {
  // As many as the process may have open.
  const auto names = names_in("/proc/self/fd", std::numeric_limits<int>::max());
  return names ? static_cast<double>(names->size()) - 1 : 0;  // one is what is read here
}

double limit_of(decltype(RLIMIT_NOFILE) resource) {
  rlimit limit{};
  if (::getrlimit(resource, &limit) != 0) return 0;
  return limit.rlim_cur == RLIM_INFINITY ? static_cast<double>(UINT64_MAX)
                                         : static_cast<double>(limit.rlim_cur);
}

}  // namespace

std::string process_text() {
  std::ostringstream out;
  out.precision(17);
  const auto say = [&out](std::string_view name, std::string_view type, double value) {
    out << "# HELP " << name << ' ' << name << "\n# TYPE " << name << ' ' << type << '\n'
        << name << ' ' << value << '\n';
  };
  const auto stat = read_stat();
  say("process_cpu_seconds_total", "counter", stat.cpu_seconds);
  say("process_max_fds", "gauge", limit_of(RLIMIT_NOFILE));
  say("process_open_fds", "gauge", open_files());
  say("process_resident_memory_bytes", "gauge", stat.resident_bytes);
  say("process_start_time_seconds", "gauge", boot_seconds() + stat.start_seconds);
  say("process_virtual_memory_bytes", "gauge", stat.virtual_bytes);
  say("process_virtual_memory_max_bytes", "gauge", limit_of(RLIMIT_AS));
  return out.str();
}

void set_runtime(Gauges& gauges) {
  const auto heap = ::mallinfo2();
  gauges.set("runtime.alloc_bytes", static_cast<double>(heap.uordblks + heap.hblkhd));
  gauges.set("runtime.sys_bytes", static_cast<double>(heap.arena + heap.hblkhd));
}

}  // namespace nomad::telemetry
