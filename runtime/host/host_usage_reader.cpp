#include "runtime/host/host_usage_reader.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>

#include <fcntl.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "runtime/base/log.hpp"
#include "runtime/base/text.hpp"
#include "runtime/host/process/unique_fd.hpp"

namespace nomad::host {

namespace {

constexpr std::uint64_t shortest_window
    = 20;  ///< Kernel ticks, of 10 ms, that shares are measured over.

double percent(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

Result<std::string> read_small_file(const std::string& path) {
  constexpr std::size_t limit = 1 << 20;
  UniqueFd file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (!file)
    return errno_error("reading " + path, errno, errno == ENOENT ? Errc::not_found : Errc::io);
  std::string content;
  std::array<char, 8192> buffer;
  for (;;) {
    ssize_t got = ::read(file.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno_error("reading " + path, errno);
    if (got == 0) return content;
    content.append(buffer.data(), static_cast<std::size_t>(got));
    if (content.size() > limit) return Error{Errc::too_large, "reading " + path + ": too long"};
  }
}

HostMemory parse_meminfo(std::string_view text) {
  HostMemory memory;
  std::uint64_t buffers = 0, cached = 0, reclaimable = 0;
  bool has_available = false;
  for (std::string_view line : split(text, '\n')) {
    std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    std::string_view key = line.substr(0, colon);
    std::uint64_t bytes = leading_number(trim(line.substr(colon + 1))) * 1024;
    if (key == "MemTotal") memory.total = bytes;
    if (key == "MemFree") memory.free = bytes;
    if (key == "MemAvailable") memory.available = bytes, has_available = true;
    if (key == "Buffers") buffers = bytes;
    if (key == "Cached") cached = bytes;
    if (key == "SReclaimable") reclaimable = bytes;
  }
  cached += reclaimable;
  if (!has_available) memory.available = memory.free + buffers + cached;
  std::uint64_t unused = memory.free + buffers + cached;
  memory.used = memory.total > unused ? memory.total - unused : 0;
  return memory;
}

std::uint64_t parse_network_bytes(std::string_view text) {
  constexpr std::array passing_on{"lo", "veth", "docker", "br-", "cni", "nomad", "virbr", "tap"};
  constexpr std::size_t sent = 8;  // Behind eight figures of what was received.
  std::uint64_t bytes = 0;
  for (std::string_view line : split(text, '\n')) {
    const auto colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    const auto name = trim(line.substr(0, colon));
    if (std::ranges::any_of(passing_on,
                            [name](std::string_view kind) { return name.starts_with(kind); }))
      continue;
    const auto figures = fields(line.substr(colon + 1), file_space);
    if (figures.size() > sent) bytes += leading_number(figures[0]) + leading_number(figures[sent]);
  }
  return bytes;
}

Result<DiskUsage> disk_usage(const std::string& path) {
  struct statfs status {};

  if (::statfs(path.c_str(), &status) != 0)
    return errno_error("measuring the disk of " + path, errno);
  auto block = static_cast<std::uint64_t>(status.f_bsize);
  DiskUsage usage;
  usage.size = status.f_blocks * block;
  usage.available = status.f_bavail * block;
  usage.used = (status.f_blocks - status.f_bfree) * block;
  usage.used_percent = percent(usage.used, usage.used + usage.available);
  if (status.f_files >= status.f_ffree)
    usage.inodes_used_percent = percent(status.f_files - status.f_ffree, status.f_files);
  return usage;
}

std::string unescape_mount(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    auto octal
        = [&](std::size_t at) { return at < text.size() && text[at] >= '0' && text[at] <= '7'; };
    if (text[i] == '\\' && octal(i + 1) && octal(i + 2) && octal(i + 3)) {
      result += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8
                                  + (text[i + 3] - '0'));
      i += 3;
    } else {
      result += text[i];
    }
  }
  return result;
}

std::vector<Partition> parse_partitions(std::string_view mountinfo, std::string_view filesystems) {
  std::set<std::string_view> on_devices;
  for (std::string_view line : split(filesystems, '\n')) {
    auto words = fields(line, file_space);
    // Like other tools, zfs counts as a disk although the kernel lists it without a device.
    if (words.size() == 1) on_devices.insert(words[0]);
    if (words.size() == 2 && words[1] == "zfs") on_devices.insert(words[1]);
  }
  std::vector<Partition> partitions;
  for (std::string_view line : split(mountinfo, '\n')) {
    std::size_t dash = line.find(" - ");
    if (dash == std::string_view::npos) continue;
    auto before = fields(line.substr(0, dash), file_space),
         after = fields(line.substr(dash + 3), file_space);
    if (before.size() < 5 || after.size() < 2) continue;
    if (after[1] == "none" || on_devices.count(after[0]) == 0) continue;
    partitions.push_back({std::string{after[1]}, unescape_mount(before[4]), std::string{after[0]}});
  }
  return partitions;
}

void HostUsageReader::warn_once(const std::string& what, const std::string& error) {
  if (warned_.insert(what).second)
    log::warn("client.host_stats", "reading the node's usage failed", {{"error", error}});
}

void HostUsageReader::read_cpu(HostUsage& usage) {
  auto text = read_small_file(options_.proc + "/stat");
  if (text.has_error()) return warn_once("cpu", text.error().what);
  for (std::string_view line : split(*text, '\n')) {
    auto words = fields(line, file_space);
    if (words.size() < 8 || words[0].substr(0, 3) != "cpu" || words[0] == "cpu") continue;
    // user nice system idle iowait irq softirq steal
    std::array<std::uint64_t, 8> times{};
    for (std::size_t i = 0; i < times.size() && i + 1 < words.size(); ++i)
      times[i] = leading_number(words[i + 1]);
    CpuTimes now{times[0], times[2], times[3], 0};
    for (std::uint64_t time : times)
      now.total += time;
    std::string name{words[0]};
    CoreUsage core;
    core.cpu = name;
    auto before = previous_.find(name);
    std::uint64_t total = before != previous_.end() && now.total > before->second.total
                              ? now.total - before->second.total
                              : 0;
    const auto shown = shown_.find(name);
    if (total < shortest_window && shown != shown_.end()) {  // too little time to say anything new
      usage.cpu.push_back(shown->second);
      continue;
    }
    if (total != 0) {
      auto since = [](std::uint64_t later, std::uint64_t earlier) {
        return later > earlier ? later - earlier : 0;  // idle may go back a tick
      };
      core.idle = percent(since(now.idle, before->second.idle), total);
      core.user = percent(since(now.user, before->second.user), total);
      core.system = percent(since(now.system, before->second.system), total);
      core.total = std::max(0.0, 100 - core.idle);
    }
    previous_[name] = now;
    if (total != 0) shown_[name] = core;
    usage.cpu.push_back(std::move(core));
  }
  for (const CoreUsage& core : usage.cpu)
    usage.cpu_ticks_consumed += core.total / 100 * static_cast<double>(options_.total_compute_mhz)
                                / static_cast<double>(usage.cpu.size());
}

void HostUsageReader::read_disks(HostUsage& usage) {
  auto mounts = read_small_file(options_.proc + "/self/mountinfo");
  auto types = read_small_file(options_.proc + "/filesystems");
  if (mounts.has_error()) return warn_once("mounts", mounts.error().what);
  if (types.has_error()) return warn_once("filesystems", types.error().what);
  for (Partition& partition : parse_partitions(*mounts, *types)) {
    auto disk = disk_usage(partition.mountpoint);
    if (disk.has_error()) {
      warn_once(partition.mountpoint, disk.error().what);
      continue;
    }
    warned_.erase(partition.mountpoint);
    disk->device = std::move(partition.device);
    disk->mountpoint = std::move(partition.mountpoint);
    usage.disks.push_back(std::move(*disk));
  }
}

HostUsage HostUsageReader::read() {
  HostUsage usage;
  usage.timestamp = std::chrono::duration_cast<std::chrono::nanoseconds>(
                        std::chrono::system_clock::now().time_since_epoch())
                        .count();
  if (auto text = read_small_file(options_.proc + "/uptime"); text.has_error()) {
    warn_once("uptime", text.error().what);
  } else {
    usage.uptime_seconds = leading_number(*text);
  }
  if (auto text = read_small_file(options_.proc + "/meminfo"); text.has_error()) {
    warn_once("meminfo", text.error().what);
  } else {
    usage.memory = parse_meminfo(*text);
  }
  if (auto text = read_small_file(options_.proc + "/self/net/dev"); text.has_error()) {
    warn_once("network", text.error().what);
  } else {
    usage.network = parse_network_bytes(*text);
  }
  read_cpu(usage);
  read_disks(usage);
  if (auto disk = disk_usage(options_.alloc_dir); disk.has_error()) {
    warn_once("alloc_dir", disk.error().what);
  } else {
    usage.alloc_dir = std::move(*disk);
  }
  return usage;
}

}  // namespace nomad::host
