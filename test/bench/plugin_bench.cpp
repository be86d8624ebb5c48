// What a message of an isolated plugin costs: phases of a task hook, asked by an actor as a runner
// does, of a plugin's process and of an actor of the agent. usage: plugin_bench;
// NOMADCTL_PLUGIN_HOST and NOMADCTL_PLUGIN are the paths of nomadctl-plugin-host and of the tests'
// probe.so.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <future>

#include <sys/resource.h>
#include <unistd.h>

#include <fmt/format.h>

#include "actors/core/supervise.hpp"
#include "actors/core/system.hpp"
#include "actors/plugin/body/socket_peer.hpp"
#include "actors/plugin/body/thread_peer.hpp"
#include "actors/plugin/plugin_hook.hpp"
#include "actors/plugin/plugin_link.hpp"
#include "runtime/base/log.hpp"
#include "runtime/host/process/process_id.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/object/entries.hpp"

using namespace nomad;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

namespace {

constexpr int phases = 20'000;

client::HookScope scope() {
  Draft<schema::Allocation> alloc;
  alloc->setId("11111111-2222-3333-4444-555555555555");
  alloc->setTaskGroup("group");
  Draft<schema::Job> job;
  job->setId("job");
  auto group = job->initTaskGroups(1)[0];
  group.setName("group");
  auto task = group.initTasks(1)[0];
  task.setName("task");
  fill_entries(task.initMeta(1), {{"probe", "silent"}});
  Draft<schema::plugin::HookTarget> target;
  target->setAllocId("11111111-2222-3333-4444-555555555555");
  target->setAllocRoot("/tmp");
  target->setTask("task");
  return {alloc.freeze(), job.freeze(), target.freeze()};
}

client::hook::Run phase(const client::HookScope& whom) {
  Draft<schema::plugin::HookRequest> request;
  request->setPhase(schema::plugin::Phase::PRESTART);
  request->setDeadline(std::chrono::nanoseconds{1min}.count());
  return {request.freeze(), whom.alloc, whom.job};
}

/// Asks one phase after the other, so many at once, and says how long one took.
double microseconds_a_phase(actor::System& system, const client::Hook& hook, int at_once) {
  std::promise<void> done;
  const auto whom = scope();
  const auto run = phase(whom);
  const auto begin = Clock::now();
  const auto asker
      = actor::spawn(system, [&](actor::Any::pointer self) -> actor::Any::behavior_type {
          auto next = std::make_shared<std::function<void()>>();
          auto left = std::make_shared<std::pair<int, int>>(phases, phases);  // to ask, to hear of
          *next = [self, next, left, hook, run, &done] {
            if (left->first-- <= 0) return;
            self->request(hook, 1min, run)
                .then(
                    [self, next, left, &done](const client::hook::Answered&) {
                      if (--left->second == 0) {
                        done.set_value();
                        *next = {};
                        return self->quit();
                      }
                      (*next)();
                    },
                    [](const Error& err) {
                      std::fprintf(stderr, "a phase failed: %s\n", err.what.c_str());
                      std::exit(1);
                    });
          };
          for (int i = 0; i < at_once; ++i)
            (*next)();
          return {};
        });
  done.get_future().wait();
  return std::chrono::duration<double, std::micro>{Clock::now() - begin}.count() / phases;
}

/// Of this process, in microseconds.
double own_processor() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto of = [](const timeval& time) { return 1e6 * time.tv_sec + time.tv_usec; };
  return of(usage.ru_utime) + of(usage.ru_stime);
}

/// Of another one, in microseconds; 0 for none.
double processor_of(int pid) {
  host::ProcessStat stat;
  if (pid == 0
      || !host::parse_process_stat(host::read_proc_file(fmt::format("/proc/{}/stat", pid)), stat))
    return 0;
  return 1e6 * static_cast<double>(stat.user_ticks + stat.system_ticks)
         / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

void measure(actor::System& system, const char* what, const client::Hook& hook, int pid) {
  for (const int at_once : {1, 64}) {
    const auto own = own_processor();
    const auto other = processor_of(pid);
    const auto each = microseconds_a_phase(system, hook, at_once);
    std::printf(
        "%-27s %2d at once: %7.1f us a phase, %6.1f us a message (two a phase); processor %5.1f us "
        "here and %5.1f us there a phase\n",
        what, at_once, each, each / 2, (own_processor() - own) / phases,
        (processor_of(pid) - other) / phases);
  }
}

}  // namespace

int main() {
  const char* const host = std::getenv("NOMADCTL_PLUGIN_HOST");
  const char* const library = std::getenv("NOMADCTL_PLUGIN");
  if (host == nullptr || library == nullptr) {
    std::puts("plugin_bench: NOMADCTL_PLUGIN_HOST and NOMADCTL_PLUGIN are not set");
    return 0;
  }
  log::set_level(log::Level::error);
  actor::SystemConfig config;
  actor::System system{config};
  const auto loop = std::make_shared<plugin::PluginLoop>();
  loop->start();
  const auto states = std::make_shared<plugin::PluginStates>();
  const plugin::ProcessOptions process{
      .program = host, .arguments = {library}, .directory = "/tmp"};
  const auto start = [&](plugin::MakePeer make_peer) {
    return plugin::spawn_plugin_link(system, {.name = "probe",
                                              .make_peer = std::move(make_peer),
                                              .api_turns = loop->turns(),
                                              .states = states,
                                              .facts = std::make_shared<plugin::PluginFacts>(),
                                              .metrics = {},
                                              .unix_now = [] { return std::int64_t{0}; }});
  };
  const auto link = start([loop, process](plugin::ProcessEvents events) {
    return std::make_unique<plugin::SocketPeer>(loop, plugin::process_body(process),
                                                std::move(events));
  });
  const auto isolated = plugin::spawn_plugin_hook(system, link, "probe", {}, scope());
  microseconds_a_phase(system, isolated, 1);  // when this is through, it runs
  measure(system, "hook of an isolated plugin", isolated, states->list().at(0).pid);
  const auto folder = std::filesystem::path{host}.parent_path().string();
  const plugin::LibraryOptions near_library{
      .library = library, .sdk_locations = {folder + "/../sdk/libnomadctl-plugin.so.1"}};
  const auto near_link = start([near_library](plugin::ProcessEvents events) {
    return std::make_unique<plugin::ThreadPeer>("probe", plugin::serve_library(near_library),
                                                std::move(events));
  });
  const auto near = plugin::spawn_plugin_hook(system, near_link, "probe", {}, scope());
  microseconds_a_phase(system, near, 1);
  measure(system, "hook of a plugin in the agent", near, 0);
  const auto built_in
      = actor::spawn(system, [](client::Hook::pointer) -> client::Hook::behavior_type {
          return {[](const client::hook::Run&) -> actor::Answer<client::hook::Answered> {
                    return client::hook::Answered{};
                  },
                  [](client::hook::Cancel) -> actor::Answer<client::hook::Settled> {
                    return client::hook::Settled{};
                  },
                  [](const client::hook::TasksChanged&) {}};
        });
  measure(system, "hook of the agent", built_in, 0);
  actor::kill(isolated);
  actor::kill(near);
  actor::kill(built_in);
  for (const auto& each : {link, near_link}) {
    actor::BlockingAsker self{system};
    self.request(each, 3s, plugin::plugin_link::Stop{})
        .receive([](plugin::plugin_link::Stopped) {}, [](const Error&) {});
    actor::kill(each);
  }
  loop->stop_all();
  return 0;
}
