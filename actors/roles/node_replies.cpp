#include "actors/roles/node_replies.hpp"

#include <algorithm>

#include "runtime/object/draft.hpp"

namespace nomad::client {
namespace {

template <class Builder>
void write_measured(const std::vector<std::string>& from, Builder to) {
  if (from.empty()) return;
  auto names = to.initMeasured(static_cast<unsigned>(from.size()));
  for (unsigned i = 0; i < names.size(); ++i)
    names.set(i, text(from[i]));
}

template <class Usage>
void write_resources(const Usage& from, schema::door::ResourceUsage::Builder to) {
  write_usage(from.cpu, to.initCpuStats());
  write_usage(from.memory, to.initMemoryStats());
}

void write_task(const host::TaskUsage& from, schema::door::TaskUsage::Builder to) {
  write_resources(from, to.initResourceUsage());
  to.setTimestamp(from.timestamp);
  if (from.processes.empty()) return;
  auto processes = to.initPids(static_cast<unsigned>(from.processes.size()));
  for (unsigned i = 0; i < processes.size(); ++i) {
    processes[i].setKey(std::to_string(from.processes[i].pid).c_str());
    write_resources(from.processes[i], processes[i].initValue());
  }
}

void add_measured(std::vector<std::string>& to, const std::vector<std::string>& from) {
  for (const auto& name : from)
    if (std::ranges::find(to, name) == to.end()) to.push_back(name);
}

host::TaskUsage sum(const client_api::AllocUsage& usage) {
  host::TaskUsage total;
  for (const auto& [name, task] : usage.tasks) {
    total.memory.rss += task.memory.rss;
    total.memory.cache += task.memory.cache;
    total.memory.swap += task.memory.swap;
    total.memory.mapped_file += task.memory.mapped_file;
    total.memory.usage += task.memory.usage;
    total.memory.max_usage += task.memory.max_usage;
    total.memory.kernel_usage += task.memory.kernel_usage;
    total.memory.kernel_max_usage += task.memory.kernel_max_usage;
    add_measured(total.memory.measured, task.memory.measured);
    total.cpu.system_mode += task.cpu.system_mode;
    total.cpu.user_mode += task.cpu.user_mode;
    total.cpu.total_ticks += task.cpu.total_ticks;
    total.cpu.percent += task.cpu.percent;
    total.cpu.throttled_periods += task.cpu.throttled_periods;
    total.cpu.throttled_time += task.cpu.throttled_time;
    add_measured(total.cpu.measured, task.cpu.measured);
    total.timestamp = std::max(total.timestamp, task.timestamp);
  }
  return total;
}

void write_disk(const host::DiskUsage& from, schema::door::DiskUsage::Builder to) {
  to.setAvailable(from.available);
  to.setDevice(text(from.device));
  to.setInodesUsedPercent(from.inodes_used_percent);
  to.setMountpoint(text(from.mountpoint));
  to.setSize(from.size);
  to.setUsed(from.used);
  to.setUsedPercent(from.used_percent);
}

void write_cores(const host::HostUsage& from, schema::door::HostUsage::Builder to) {
  double busy = 0;
  for (const auto& core : from.cpu)
    busy += core.total;
  const double ticks = busy > 0 ? from.cpu_ticks_consumed / busy : 0;
  auto cores = to.initCpu(static_cast<unsigned>(from.cpu.size()));
  for (unsigned i = 0; i < cores.size(); ++i) {
    const auto& core = from.cpu[i];
    cores[i].setCpu(text(core.cpu));
    cores[i].setIdle(core.idle);
    cores[i].setSystem(core.system);
    cores[i].setTotalPercent(core.total);
    cores[i].setTotalTicks(core.total * ticks);
    cores[i].setUser(core.user);
  }
}

}  // namespace

void write_usage(const host::MemoryUsage& from, schema::plugin::MemoryUsage::Builder to) {
  to.setRss(from.rss);
  to.setCache(from.cache);
  to.setSwap(from.swap);
  to.setMappedFile(from.mapped_file);
  to.setUsage(from.usage);
  to.setMaxUsage(from.max_usage);
  to.setKernelUsage(from.kernel_usage);
  to.setKernelMaxUsage(from.kernel_max_usage);
  write_measured(from.measured, to);
}

void write_usage(const host::CpuUsage& from, schema::plugin::CpuUsage::Builder to) {
  to.setSystemMode(from.system_mode);
  to.setUserMode(from.user_mode);
  to.setTotalTicks(from.total_ticks);
  to.setPercent(from.percent);
  to.setThrottledPeriods(from.throttled_periods);
  to.setThrottledTime(from.throttled_time);
  write_measured(from.measured, to);
}

door::NodeReply usage_reply(const client_api::AllocUsage& usage) {
  return door::make_node_reply([&](auto& reply) {
    const auto total = sum(usage);
    auto to = reply.initAllocUsage();
    auto all = to.initResourceUsage();
    write_resources(total, all);
    all.setDeviceStats("[]");
    to.setTimestamp(total.timestamp);
    auto tasks = to.initTasks(static_cast<unsigned>(usage.tasks.size()));
    for (unsigned i = 0; i < tasks.size(); ++i) {
      tasks[i].setKey(text(usage.tasks[i].first));
      write_task(usage.tasks[i].second, tasks[i].initValue());
    }
  });
}

door::NodeReply usage_reply(const host::HostUsage& usage) {
  return door::make_node_reply([&](auto& reply) {
    auto to = reply.initHostUsage();
    write_disk(usage.alloc_dir, to.initAllocDirStats());
    write_cores(usage, to);
    to.setCpuTicksConsumed(usage.cpu_ticks_consumed);
    auto disks = to.initDiskStats(static_cast<unsigned>(usage.disks.size()));
    for (unsigned i = 0; i < disks.size(); ++i)
      write_disk(usage.disks[i], disks[i]);
    auto memory = to.initMemory();
    memory.setAvailable(usage.memory.available);
    memory.setFree(usage.memory.free);
    memory.setTotal(usage.memory.total);
    memory.setUsed(usage.memory.used);
    to.setTimestamp(usage.timestamp);
    to.setUptime(usage.uptime_seconds);
  });
}

door::NodeReply checks_reply(const client_api::CheckReports& reports) {
  return door::make_node_reply([&](auto& reply) {
    auto to = reply.initChecks(static_cast<unsigned>(reports.checks.size()));
    for (unsigned i = 0; i < to.size(); ++i) {
      const auto& from = reports.checks[i];
      to[i].setCheck(text(from.check));
      to[i].setGroup(text(from.group));
      to[i].setId(text(from.id));
      to[i].setMode(text(from.mode));
      to[i].setOutput(text(from.output));
      to[i].setService(text(from.service));
      to[i].setStatus(text(from.status));
      to[i].setStatusCode(from.status_code);
      to[i].setTask(text(from.task));
      to[i].setTimestamp(from.timestamp);
    }
  });
}

door::NodeReply identities_reply(const std::vector<client_api::IdentityReport>& reports) {
  return door::make_node_reply([&](auto& reply) {
    auto to = reply.initIdentities(static_cast<unsigned>(reports.size()));
    for (unsigned i = 0; i < to.size(); ++i) {
      const auto& from = reports[i];
      auto audience = to[i].initAudience(static_cast<unsigned>(from.audience.size()));
      for (unsigned j = 0; j < audience.size(); ++j)
        audience.set(j, text(from.audience[j]));
      to[i].setExpiresAt(from.expires_at);
      to[i].setIssuedAt(from.issued_at);
      to[i].setName(from.name.empty() ? "default" : text(from.name));
      to[i].setService(text(from.service));
      to[i].setTask(text(from.task));
    }
  });
}

}  // namespace nomad::client
