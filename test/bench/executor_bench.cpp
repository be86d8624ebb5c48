// Figures of nomadctl-executor: how fast tasks start and are found again, what they cost beside
// the task itself. usage: executor_bench [TASKS]; the executor's path is in NOMADCTL_EXECUTOR.

#include <chrono>
#include <cstdio>
#include <ctime>
#include <deque>
#include <functional>
#include <thread>

#include "test/unit/runtime/host/executor_harness.hpp"

using namespace nomad;
using namespace nomad::host;

namespace {

using Clock = std::chrono::steady_clock;
using Command = std::function<TaskCommand(int task, const char* script)>;

double milliseconds_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

// kB of one field of /proc/<pid>/smaps_rollup, summed over the fields given.
long memory_kb(pid_t pid, std::initializer_list<const char*> fields) {
  std::string text = read_text("/proc/" + std::to_string(pid) + "/smaps_rollup");
  long sum = 0;
  for (const char* field : fields) {
    std::size_t at = text.find(std::string{"\n"} + field + ":");
    if (at != std::string::npos) sum += std::atol(text.c_str() + text.find(':', at) + 1);
  }
  return sum;
}

std::uint64_t cpu_ticks(pid_t pid) {
  ProcessStat stat;
  parse_process_stat(read_proc_file("/proc/" + std::to_string(pid) + "/stat"), stat);
  return stat.user_ticks + stat.system_ticks;
}

std::string key(int task) {
  return executor_key("bench", "task" + std::to_string(task));
}

/// Whether every start came to something.
bool time_single_starts(Executors& executors, const Command& command) {
  double total = 0, worst = 0;
  constexpr int single = 100;
  for (int i = 0; i < single; ++i) {
    Heard heard;
    auto begin = Clock::now();
    executors.client().start(key(0), command(0, "exit 0"), heard.listener());
    if (heard.started().has_error()) return false;
    double took = milliseconds_since(begin);
    total += took;
    worst = std::max(worst, took);
    heard.exited();
    if (executors.acknowledge(key(0)).has_error()) return false;
  }
  std::printf("start of one task            %8.2f ms mean, %.2f ms worst of %d\n", total / single,
              worst, single);
  return true;
}

/// What the tasks' helpers hold and use while nothing happens.
void print_idle_cost(const std::vector<pid_t>& helpers) {
  const auto tasks = static_cast<int>(helpers.size());
  std::this_thread::sleep_for(std::chrono::seconds{1});
  long resident = 0, private_kb = 0;
  for (pid_t pid : helpers) {
    resident += memory_kb(pid, {"Rss"});
    private_kb += memory_kb(pid, {"Private_Clean", "Private_Dirty"});
  }
  std::printf("helper per task              %8.2f MB resident, %.2f MB private\n",
              static_cast<double>(resident) / tasks / 1024,
              static_cast<double>(private_kb) / tasks / 1024);

  constexpr int seconds = 3;
  std::uint64_t before = cpu_ticks(::getpid());
  for (pid_t pid : helpers)
    before += cpu_ticks(pid);
  timespec self_before{}, self_after{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &self_before);
  std::this_thread::sleep_for(std::chrono::seconds{seconds});
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &self_after);
  std::uint64_t after = cpu_ticks(::getpid());
  for (pid_t pid : helpers)
    after += cpu_ticks(pid);
  double own = static_cast<double>(self_after.tv_sec - self_before.tv_sec) * 1000
               + static_cast<double>(self_after.tv_nsec - self_before.tv_nsec) / 1e6;
  std::printf(
      "idle cpu, %d tasks          %8.3f %% of a core in ticks, %.3f ms of our own in %d s\n",
      tasks, static_cast<double>(after - before) / seconds, own, seconds);
}

}  // namespace

int main(int argc, char** argv) {
  const int tasks = argc > 1 ? std::atoi(argv[1]) : 200;
  const bool cgroups = std::getenv("NO_CGROUPS") == nullptr;
  Executors executors{cgroups};
  const Command command = [&](int task, const char* script) {
    TaskCommand command = executors.shell(script);
    command.logs->task = "task" + std::to_string(task);
    return command;
  };

  if (!time_single_starts(executors, command)) return 1;

  std::deque<Heard> first(static_cast<std::size_t>(tasks));
  std::vector<pid_t> helpers;
  auto begin = Clock::now();
  for (int task = 0; task < tasks; ++task) {
    executors.client().start(key(task), command(task, "exec sleep 1000"),
                             first[static_cast<std::size_t>(task)].listener());
  }
  for (Heard& heard : first)
    helpers.push_back(heard.started()->executor_pid);
  std::printf("start of %d tasks           %8.1f ms\n", tasks, milliseconds_since(begin));

  print_idle_cost(helpers);

  begin = Clock::now();
  executors.reopen();
  std::deque<Heard> second(static_cast<std::size_t>(tasks));
  for (int task = 0; task < tasks; ++task)
    executors.client().attach(key(task), "", second[static_cast<std::size_t>(task)].listener());
  for (Heard& heard : second) {
    if (heard.started().has_error()) return 1;
  }
  std::printf("reattach of %d tasks        %8.1f ms\n", tasks, milliseconds_since(begin));

  begin = Clock::now();
  for (int task = 0; task < tasks; ++task)
    executors.client().stop(key(task), 9, std::chrono::seconds{0}, nullptr);
  for (Heard& heard : second)
    heard.exited();
  std::printf("kill of %d tasks            %8.1f ms\n", tasks, milliseconds_since(begin));
  return 0;
}
