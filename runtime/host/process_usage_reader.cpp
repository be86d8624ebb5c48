#include "runtime/host/process_usage_reader.hpp"

#include <array>
#include <chrono>

#include <unistd.h>

#include <dirent.h>

#include "runtime/base/text.hpp"
#include "runtime/host/host_usage_reader.hpp"
#include "runtime/host/process/process_id.hpp"

namespace nomad::host {

namespace {

constexpr std::uint64_t nanoseconds_per_second = 1'000'000'000;

// The number after `key` in lines of "key value" or "key:  value".
std::uint64_t value_of(std::string_view text, std::string_view key) {
  for (std::string_view line : split(text, '\n')) {
    if (line.substr(0, key.size()) != key || line.size() == key.size()) continue;
    char next = line[key.size()];
    if (next == ' ' || next == ':') return leading_number(line.substr(key.size() + 1));
  }
  return 0;
}

double percent(std::uint64_t before, std::uint64_t after, std::int64_t nanoseconds) {
  if (nanoseconds <= 0 || after <= before) return 0;
  return 100.0 * static_cast<double>(after - before) / static_cast<double>(nanoseconds);
}

/// What the link that stands for a namespace says, "net:[4026531840]"; empty: unknown.
std::string namespace_of(const std::string& link) {
  std::array<char, 64> name;
  const auto length = ::readlink(link.c_str(), name.data(), name.size());
  return length < 0 ? std::string{} : std::string{name.data(), static_cast<std::size_t>(length)};
}

std::int64_t steady_now() {
  return std::chrono::nanoseconds{std::chrono::steady_clock::now().time_since_epoch()}.count();
}

// Children of each process, by one walk over /proc.
std::map<pid_t, std::vector<pid_t>> read_children(const std::string& proc) {
  std::map<pid_t, std::vector<pid_t>> children;
  DIR* directory = ::opendir(proc.c_str());
  if (directory == nullptr) return children;
  while (const dirent* entry = ::readdir(directory)) {
    if (entry->d_name[0] < '1' || entry->d_name[0] > '9') continue;
    ProcessStat stat;
    if (parse_process_stat(read_proc_file(proc + '/' + entry->d_name + "/stat"), stat))
      children[stat.parent].push_back(stat.pid);
  }
  ::closedir(directory);
  return children;
}

std::vector<pid_t> descendants(const std::map<pid_t, std::vector<pid_t>>& children, pid_t root) {
  std::vector<pid_t> found, open = {root};
  while (!open.empty()) {
    auto below = children.find(open.back());
    open.pop_back();
    if (below == children.end()) continue;
    found.insert(found.end(), below->second.begin(), below->second.end());
    open.insert(open.end(), below->second.begin(), below->second.end());
  }
  return found;
}

void add_cgroup_memory(const CgroupScope& scope, MemoryUsage& memory) {
  auto file = [&](const char* name) { return read_proc_file(scope.memory + '/' + name); };
  if (scope.memory_is_v2) {
    std::string stat = file("memory.stat");
    memory.usage = leading_number(file("memory.current"));
    memory.max_usage = leading_number(file("memory.peak"));
    memory.cache = value_of(stat, "file");
    memory.mapped_file = value_of(stat, "file_mapped");
    memory.kernel_usage = value_of(stat, "kernel");
    for (const char* name : {"Cache", "Usage", "Kernel Usage"})
      memory.measured.push_back(name);
    if (memory.max_usage != 0) memory.measured.push_back("Max Usage");
    return;
  }
  std::string stat = file("memory.stat");
  memory.usage = leading_number(file("memory.usage_in_bytes"));
  memory.max_usage = leading_number(file("memory.max_usage_in_bytes"));
  memory.kernel_usage = leading_number(file("memory.kmem.usage_in_bytes"));
  memory.kernel_max_usage = leading_number(file("memory.kmem.max_usage_in_bytes"));
  memory.cache = value_of(stat, "cache");
  memory.mapped_file = value_of(stat, "mapped_file");
  for (const char* name : {"Cache", "Usage", "Max Usage", "Kernel Usage", "Kernel Max Usage"})
    memory.measured.push_back(name);
}

}  // namespace

ProcessUsageReader::ProcessUsageReader(std::uint64_t total_compute_mhz,
                                       unsigned cores,
                                       std::chrono::nanoseconds fresh_for,
                                       std::string proc)
    : total_compute_mhz_(total_compute_mhz),
      cores_(cores == 0 ? 1 : cores),
      proc_(std::move(proc)),
      own_network_(namespace_of(proc_ + "/self/ns/net")),
      fresh_for_(fresh_for.count()) {
  long ticks = ::sysconf(_SC_CLK_TCK);
  nanoseconds_per_tick_
      = nanoseconds_per_second / static_cast<std::uint64_t>(ticks > 0 ? ticks : 100);
}

ProcessUsage ProcessUsageReader::read_process(pid_t pid,
                                              std::int64_t now,
                                              std::map<pid_t, Sample>& before,
                                              std::map<pid_t, Sample>& after) {
  ProcessUsage usage;
  std::string directory = proc_ + '/' + std::to_string(pid);
  ProcessStat stat;
  if (!parse_process_stat(read_proc_file(directory + "/stat"), stat)) return usage;
  usage.pid = pid;
  usage.memory.rss = stat.rss_pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  usage.memory.swap = value_of(read_proc_file(directory + "/status"), "VmSwap") * 1024;
  usage.memory.measured = {"RSS", "Swap"};
  Sample sample{stat.start_ticks, stat.user_ticks * nanoseconds_per_tick_,
                stat.system_ticks * nanoseconds_per_tick_, now};
  auto previous = before.find(pid);
  if (previous != before.end() && previous->second.start_ticks == sample.start_ticks) {
    std::int64_t passed = now - previous->second.at;
    usage.cpu.user_mode = percent(previous->second.user_ns, sample.user_ns, passed);
    usage.cpu.system_mode = percent(previous->second.system_ns, sample.system_ns, passed);
    usage.cpu.percent = usage.cpu.user_mode + usage.cpu.system_mode;
  }
  usage.cpu.measured = {"System Mode", "User Mode", "Percent"};
  after[pid] = sample;
  return usage;
}

/// Nothing for a process in the network of this one.
std::optional<std::uint64_t> ProcessUsageReader::read_network(pid_t pid) const {
  const auto directory = proc_ + '/' + std::to_string(pid);
  const auto its = namespace_of(directory + "/ns/net");
  if (its.empty() || own_network_.empty() || its == own_network_) return std::nullopt;
  const auto text = read_proc_file(directory + "/net/dev");
  if (text.empty()) return std::nullopt;
  return parse_network_bytes(text);
}

bool ProcessUsageReader::is_fresh(std::int64_t at, std::int64_t now) const {
  return at != 0 && now - at < fresh_for_;
}

const ProcessUsageReader::Children& ProcessUsageReader::children(std::int64_t now) {
  if (walked_at_ == 0) {
    children_ = read_children(proc_);
    walked_at_ = now;
  }
  return children_;
}

std::vector<TaskUsage> ProcessUsageReader::read(std::span<const TaskProcesses> tasks) {
  if (!is_fresh(walked_at_, steady_now())) walked_at_ = 0;
  std::vector<TaskUsage> usages;
  usages.reserve(tasks.size());
  for (const TaskProcesses& task : tasks) {
    const std::int64_t now = steady_now();
    Task& known = tasks_[task.key];
    if (!is_fresh(known.at, now)) {
      known.usage = read_task(task, now, known.samples);
      known.at = now;
    }
    usages.push_back(known.usage);
  }
  return usages;
}

TaskUsage ProcessUsageReader::read_task(const TaskProcesses& task,
                                        std::int64_t now,
                                        std::map<pid_t, Sample>& samples) {
  std::vector<pid_t> pids = Cgroups::processes(task.cgroup);
  if (pids.empty() && !task.cgroup && task.executor_pid > 0)
    pids = descendants(children(now), task.executor_pid);
  TaskUsage usage;
  const auto wall = std::chrono::system_clock::now().time_since_epoch();
  usage.timestamp = std::chrono::nanoseconds{wall}.count();
  usage.memory.measured = {"RSS", "Swap"};
  usage.cpu.measured = {"System Mode", "User Mode", "Percent"};
  std::map<pid_t, Sample> after;
  for (pid_t pid : pids) {
    ProcessUsage process = read_process(pid, now, samples, after);
    if (process.pid == 0) continue;
    usage.memory.rss += process.memory.rss;
    usage.memory.swap += process.memory.swap;
    usage.cpu.user_mode += process.cpu.user_mode;
    usage.cpu.system_mode += process.cpu.system_mode;
    usage.processes.push_back(std::move(process));
  }
  if (task.cgroup.cpu_is_v2) {
    // The group's own count also has the processes that came and went between two samples.
    std::string stat = read_proc_file(task.cgroup.cpu + "/cpu.stat");
    Sample sample{0, value_of(stat, "user_usec") * 1000, value_of(stat, "system_usec") * 1000, now};
    constexpr pid_t whole_group = 0;
    if (auto previous = samples.find(whole_group); previous != samples.end()) {
      std::int64_t passed = now - previous->second.at;
      usage.cpu.user_mode = percent(previous->second.user_ns, sample.user_ns, passed);
      usage.cpu.system_mode = percent(previous->second.system_ns, sample.system_ns, passed);
    }
    usage.cpu.throttled_periods = value_of(stat, "nr_throttled");
    usage.cpu.throttled_time = value_of(stat, "throttled_usec") * 1000;
    after[whole_group] = sample;
  }
  if (!usage.processes.empty()) usage.network = read_network(usage.processes.front().pid);
  if (!task.cgroup.memory.empty()) add_cgroup_memory(task.cgroup, usage.memory);
  usage.cpu.percent = usage.cpu.user_mode + usage.cpu.system_mode;
  usage.cpu.total_ticks = usage.cpu.percent / 100 * static_cast<double>(total_compute_mhz_)
                          / static_cast<double>(cores_);
  samples = std::move(after);
  return usage;
}

void ProcessUsageReader::forget(const std::string& key) {
  tasks_.erase(key);
}

}  // namespace nomad::host
