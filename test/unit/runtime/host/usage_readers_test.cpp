// Use of the machine and of tasks.

#include <thread>

#include <signal.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include "runtime/host/host_usage_reader.hpp"
#include "runtime/host/process_usage_reader.hpp"
#include "temp_dir.hpp"
#include "test/support/child_process.hpp"

using namespace nomad;
using namespace nomad::host;

namespace {

// Stands for an executor with a task that burns cpu and has a child of its own that sleeps.
class Family {
public:
  Family() { CHECK(root_.wrote_line()); }

  ~Family() { ::kill(-root_.pid(), SIGKILL); }

  pid_t root() const { return root_.pid(); }

  /// Waits until it has burnt some more.
  bool burns() const { return root_.wrote_line(); }

private:
  // Its processes are a group, which dies together.
  test::ChildProcess root_{
      {"/usr/bin/setsid", "/bin/sh", "-c",
       "(sleep 1000 & echo up; while :; do i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; "
       "echo more; done) & wait"}};
};

}  // namespace

TEST_CASE("host_usage_reader: parses memory, with and without what the kernel reckons available") {
  HostMemory memory = parse_meminfo(
      "MemTotal:  1000 kB\nMemFree:  400 kB\nMemAvailable: 600 kB\n"
      "Buffers: 50 kB\nCached: 100 kB\nSReclaimable: 10 kB\n");
  CHECK(memory.total == 1000 * 1024);
  CHECK(memory.available == 600 * 1024);
  CHECK(memory.used == 440 * 1024);
  CHECK(parse_meminfo("MemTotal: 1000 kB\nMemFree: 400 kB\nCached: 100 kB\n").available
        == 500 * 1024);
  CHECK(parse_meminfo("MemFree: 400 kB\nnonsense").used == 0);
}

TEST_CASE("host_usage_reader: lists disks, not pseudo file systems") {
  auto partitions = parse_partitions(
      "22 1 254:0 / / rw - ext4 /dev/vda rw\n"
      "23 22 0:5 / /proc rw - proc proc rw\n"
      "24 22 254:1 / /with\\040blank rw - xfs /dev/vdb rw\n"
      "25 22 254:1 / /none rw - xfs none rw\nbroken\n",
      "nodev\tproc\n\text4\n\txfs\n");
  REQUIRE(partitions.size() == 2);
  CHECK(partitions[0].device == "/dev/vda");
  CHECK(partitions[1].mountpoint == "/with blank");
}

TEST_CASE("host_usage_reader: counts what interfaces to others have moved, in and out") {
  CHECK(parse_network_bytes(
            "Inter-|   Receive                            |  Transmit\n"
            " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets\n"
            "    lo: 500 1 0 0 0 0 0 0 500 1 0 0 0 0 0 0\n"
            "  eth0: 1000 1 0 0 0 0 0 0 200 1 0 0 0 0 0 0\n"
            "wlan0:30 1 0 0 0 0 0 0 4 1 0 0 0 0 0 0\n"
            "veth12: 7000 1 0 0 0 0 0 0 7000 1 0 0 0 0 0 0\n"
            "docker0: 7000 1 0 0 0 0 0 0 7000 1 0 0 0 0 0 0\n"
            "  eth1: 9 9\n")
        == 1234);
  CHECK(parse_network_bytes("") == 0);
  CHECK(parse_network_bytes(":\n:::") == 0);
}

TEST_CASE("host_usage_reader: reads this machine") {
  HostUsageReader stats{{.alloc_dir = "/tmp", .total_compute_mhz = 4000}};

  HostUsage first = stats.read();
  const Family family;  // lets some time go by, for the kernel's clock
  CHECK(family.burns());
  CHECK(family.burns());
  HostUsage second = stats.read();

  CHECK(first.memory.total > first.memory.free);
  CHECK(first.alloc_dir.size > 0);
  CHECK(first.uptime_seconds > 0);
  CHECK(first.network.has_value());
  CHECK(first.cpu.size() == std::thread::hardware_concurrency());
  CHECK(first.cpu[0].idle == 100);
  CHECK(first.cpu_ticks_consumed == 0);
  for (const CoreUsage& core : second.cpu) {
    CHECK(core.idle >= 0);
    CHECK(core.idle + core.user + core.system <= 100.001);
    CHECK(core.total == doctest::Approx(100 - core.idle));
  }
  CHECK(second.cpu_ticks_consumed <= 4000);
  CHECK(disk_usage("/no/such").error().what
        == "measuring the disk of /no/such: No such file or directory");
}

TEST_CASE("host_usage_reader: shares of the cpu since the last reading") {
  TempDir proc;
  std::filesystem::create_directory(proc / "self");
  for (const char* name : {"uptime", "meminfo", "filesystems", "self/mountinfo"})
    write_text(proc / name, "");
  HostUsageReader stats{{.alloc_dir = "/tmp", .total_compute_mhz = 2000, .proc = proc.path()}};
  write_text(proc / "stat",
             "cpu  9 9 9 9 9 9 9 9\ncpu0 100 0 100 800 0 0 0 0 0 0\n"
             "cpu1 0 0 0 100 0 0 0 0 0 0\n");
  stats.read();
  write_text(proc / "stat",
             "cpu  9 9 9 9 9 9 9 9\ncpu0 150 0 125 825 0 0 0 0 0 0\n"
             "cpu1 0 0 0 99 0 0 0 0 0 0\n");

  HostUsage usage = stats.read();

  REQUIRE(usage.cpu.size() == 2);
  CHECK(usage.cpu[0].user == doctest::Approx(50));
  CHECK(usage.cpu[0].system == doctest::Approx(25));
  CHECK(usage.cpu[0].idle == doctest::Approx(25));
  CHECK(usage.cpu[0].total == doctest::Approx(75));
  CHECK(usage.cpu[1].idle == 100);  // a counter that went back
  CHECK(usage.cpu_ticks_consumed == doctest::Approx(750));

  write_text(proc / "stat",
             "cpu  9 9 9 9 9 9 9 9\ncpu0 151 0 125 826 0 0 0 0 0 0\n"
             "cpu1 0 0 0 200 0 0 0 0 0 0\n");
  CHECK(stats.read().cpu[0].user == doctest::Approx(50));  // asked again at once
}

TEST_CASE("process_usage_reader: what its network has moved, of a task that has one of its own") {
  const auto usage_of = [](std::vector<std::string> command) {
    command.insert(command.begin(), "/usr/bin/setsid");  // its processes die together
    for (const auto* word : {"/bin/sh", "-c", "sleep 1000 & echo up; wait"})
      command.emplace_back(word);
    const test::ChildProcess root{command};
    std::optional<TaskUsage> usage;
    if (root.wrote_line())
      usage = ProcessUsageReader{4000, 2}.read(
          std::vector<TaskProcesses>{{.key = "a", .executor_pid = root.pid()}})[0];
    ::kill(-root.pid(), SIGKILL);
    return usage;
  };
  const auto with_ours = usage_of({});
  REQUIRE(with_ours.has_value());
  CHECK(with_ours->processes.size() == 1);
  CHECK_FALSE(with_ours->network.has_value());

  const auto with_its_own = usage_of({"/usr/bin/unshare", "--user", "--net"});

  if (!with_its_own) {
    MESSAGE("skipped: this machine lets nobody make a network namespace");
    return;
  }
  CHECK(with_its_own->network == 0);
}

TEST_CASE("process_usage_reader: sums the tree below an executor") {
  Family family;
  ProcessUsageReader stats{4000, 2};
  std::vector<TaskProcesses> tasks
      = {{.key = "a", .executor_pid = family.root()}, {.key = "none", .executor_pid = 1 << 30}};

  auto first = stats.read(tasks);
  auto second = first;
  while (second[0].cpu.percent <= 5 && family.burns())
    second = stats.read(tasks);

  REQUIRE(first.size() == 2);
  CHECK(first[0].processes.size() == 2);
  CHECK(first[0].memory.rss > 100'000);
  CHECK(first[0].cpu.percent == 0);
  CHECK(second[0].cpu.percent > 5);
  CHECK(second[0].cpu.percent < 150);
  CHECK(second[0].cpu.total_ticks == doctest::Approx(second[0].cpu.percent / 100 * 2000));
  CHECK(second[0].memory.measured == std::vector<std::string>{"RSS", "Swap"});
  CHECK(second[1].processes.empty());
  CHECK(second[1].memory.rss == 0);
  stats.forget("a");
  CHECK(stats.read(tasks)[0].cpu.percent == 0);
}

TEST_CASE(
    "process_usage_reader: who asks again at once, or for another task, hears what was found") {
  TempDir proc;
  const auto put = [&proc](int pid, int parent, int pages) {
    const auto directory = proc / std::to_string(pid);
    std::filesystem::create_directories(directory);
    write_text(directory + "/status", "");
    write_text(directory + "/stat", std::to_string(pid) + " (sh) S " + std::to_string(parent)
                                        + " 1 1 0 0 0 0 0 0 0 0 0 0 0 20 0 1 0 100 0 "
                                        + std::to_string(pages) + " 0");
  };
  put(11, 10, 1);
  put(21, 20, 1);
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const std::vector<TaskProcesses> a = {{.key = "a", .executor_pid = 10}};
  const std::vector<TaskProcesses> b = {{.key = "b", .executor_pid = 20}};
  ProcessUsageReader patient{1000, 1, std::chrono::hours{1}, proc.path()};
  ProcessUsageReader eager{1000, 1, {}, proc.path()};
  for (ProcessUsageReader* stats : {&patient, &eager})
    REQUIRE(stats->read(a)[0].memory.rss == page);
  put(11, 10, 5);
  put(22, 20, 1);

  CHECK(patient.read(a)[0].memory.rss == page);
  CHECK_MESSAGE(patient.read(b)[0].processes.size() == 1, "without another walk");
  CHECK(eager.read(a)[0].memory.rss == 5 * page);
  CHECK(eager.read(b)[0].processes.size() == 2);

  patient.forget("a");
  CHECK(patient.read(a)[0].memory.rss == 5 * page);
}

TEST_CASE("process_usage_reader: reads a cgroup of version 2 and of version 1") {
  TempDir group;
  write_text(group / "cgroup.procs", std::to_string(::getpid()) + "\n");
  write_text(group / "cpu.stat",
             "usage_usec 0\nuser_usec 1000\nsystem_usec 500\nnr_throttled 3\n"
             "throttled_usec 7\n");
  write_text(group / "memory.current", "5000\n");
  write_text(group / "memory.peak", "6000\n");
  write_text(group / "memory.stat", "anon 1\nfile 2000\nfile_mapped 300\nkernel 40\n");
  CgroupScope scope;
  scope.directories = {group.path()};
  scope.memory = scope.cpu = scope.unified = group.path();
  scope.memory_is_v2 = scope.cpu_is_v2 = true;
  ProcessUsageReader stats{1000, 1};
  std::vector<TaskProcesses> tasks = {{.key = "a", .executor_pid = 0, .cgroup = scope}};

  TaskUsage usage = stats.read(tasks)[0];

  CHECK(usage.processes.size() == 1);
  CHECK(usage.memory.usage == 5000);
  CHECK(usage.memory.max_usage == 6000);
  CHECK(usage.memory.cache == 2000);
  CHECK(usage.memory.mapped_file == 300);
  CHECK(usage.memory.kernel_usage == 40);
  CHECK(usage.cpu.throttled_periods == 3);
  CHECK(usage.cpu.throttled_time == 7000);
  write_text(group / "cpu.stat", "usage_usec 0\nuser_usec 1001000\nsystem_usec 500\n");
  CHECK(stats.read(tasks)[0].cpu.user_mode > 0);

  write_text(group / "memory.usage_in_bytes", "1\n");
  write_text(group / "memory.max_usage_in_bytes", "2\n");
  write_text(group / "memory.kmem.usage_in_bytes", "3\n");
  write_text(group / "memory.kmem.max_usage_in_bytes", "4\n");
  write_text(group / "memory.stat", "cache 5\nrss 6\nmapped_file 7\n");
  tasks[0].cgroup.memory_is_v2 = false;
  usage = stats.read(tasks)[0];
  CHECK(usage.memory.usage == 1);
  CHECK(usage.memory.max_usage == 2);
  CHECK(usage.memory.kernel_usage == 3);
  CHECK(usage.memory.kernel_max_usage == 4);
  CHECK(usage.memory.cache == 5);
  CHECK(usage.memory.mapped_file == 7);
}
