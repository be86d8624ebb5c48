// Plugins that misbehave, one for each way (BAD), and one that does as a task's meta says.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <unistd.h>

#include "runtime/plugin/sdk/plugin.hpp"

using namespace nomad;
using namespace nomad::plugin;

namespace {

#if BAD == 1  // before it can say anything
struct Hangs {
  Hangs() { sleep(1000); }
} hangs;
#endif

/// What the task's meta `probe` orders; the deadline is short, so that a test need not wait long.
[[maybe_unused]] Result<HookAnswer> probe(HookRunner& runner, const HookCall& call) {
  const auto order = call.meta("probe");
  if (order == "block") sleep(1000);
  if (order == "orphan" && fork() == 0) {
    execl("/bin/sleep", "sleep", "4242.17", nullptr);
    _exit(127);
  }
  if (order == "fork" && fork() == 0) pause();  // with all descriptors
  if (order == "crash" || order == "orphan" || order == "fork") abort();
  if (order == "throw") throw std::runtime_error{"as ordered"};
  if (order == "flood")
    for (int i = 0; i < 30'000; ++i)
      runner.agent().log(Level::info, "line " + std::to_string(i));
  if (order == "chatter")
    for (int i = 0; i < 600'000; ++i)
      std::puts("chatter");
  if (order == "leak")
    for (std::vector<std::string> all;;)
      all.emplace_back(1 << 20, 'x');
  if (order == "peek" && std::ifstream{"/etc/shadow"})
    return Error{Errc::rejected, "the probe reads what it likes"};
  if (order == "refuse") return Error{Errc::rejected, "the probe refuses it"};
  if (order == "silent") return HookAnswer{};
  runner.event("Probe", "probed " + call.task());
  return HookAnswer{.environment = {{"PROBED", "yes"}}};
}

void describe_bad(Plugin& plugin) {
#if BAD == 1
  plugin.is("hangs", "1.0.0");
#elif BAD == 2
  plugin.is("throws", "1.0.0");
  throw std::runtime_error{"it has a bad day"};
#elif BAD == 3
  plugin.is("nonsense", "1.0.0");
  plugin.task_hook({.name = "../../etc", .phases = {Phase::PRESTART}}, hook_of(probe));
#elif BAD == 4
  plugin.is("replaces", "1.0.0");
  plugin.driver("raw_exec", [](Agent&) { return std::unique_ptr<Driver>{}; });
#elif BAD == 5
  plugin.is("unready", "1.0.0");
  plugin.on_configure([](const Config&) -> Result<> {
    sleep(1000);
    return {};
  });
#elif BAD == 7  // a good one: two devices, of which one is out of order
  plugin.is("gadgets", "1.0.0");
  plugin.devices(
      "gadgets", {.vendor = "acme", .type = "gadget", .interval = std::chrono::seconds{1}},
      [](Agent&) -> Result<std::vector<DeviceGroup>> {
        return std::vector<DeviceGroup>{{.name = "small",
                                         .attributes = {{"memory", "11 GiB"}},
                                         .instances = {{"a"}, {"b", false, "out of order"}}}};
      },
      [](HookRunner& runner, const HookCall&, const ReservedDevices& got) -> Result<HookAnswer> {
        runner.event("Gadgets", got.name + ' ' + got.ids.at(0));
        return HookAnswer{.environment = {{"GADGET", got.ids[0]}}};
      });
#else
  plugin.is("probe", "1.0.0");
  plugin.config({{.name = "wait", .kind = ConfigKind::DURATION}});
  plugin.task_hook({.name = "probe",
                    .after = "task_dir",
                    .phases = {Phase::PRESTART},
                    .patience = std::chrono::seconds{15},
                    .meta = "probe"},
                   hook_of(probe));
#endif
}

}  // namespace

NOMADCTL_PLUGIN(describe_bad)
