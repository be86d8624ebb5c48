// SimNode's driver and the processes behind it.
#include <algorithm>

#include <fmt/format.h>

#include "actors/client/drivers/config_reader.hpp"
#include "actors/client/drivers/config_schema.hpp"
#include "actors/client/drivers/driver_objects.hpp"
#include "actors/core/supervise.hpp"
#include "test/mistakes/mistake.hpp"
#include "test/simulation/sim_node.hpp"

namespace nomad::test {

using namespace std::chrono_literals;
using namespace client;

namespace {

/// `version` only makes jobs differ.
constexpr ConfigFieldSpec fields[] = {
    {"run_for", ConfigKind::NUMBER}, {"exit", ConfigKind::NUMBER}, {"version", ConfigKind::NUMBER}};

Object<schema::plugin::DriverDescription> describe() {
  Draft<schema::plugin::DriverDescription> draft;
  draft->initCapabilities().setFsIsolation("none");
  draft->getCapabilities().setSendSignals(true);
  draft->getCapabilities().setMounts(true);
  write_fields(fields, draft->initConfig(std::size(fields)));
  return draft.freeze();
}

std::string token_in(const schema::plugin::TaskConfig::Reader& config) {
  constexpr std::string_view name = "NOMAD_TOKEN=";
  for (const auto variable : config.getEnvironment())
    if (view(variable).starts_with(name)) return std::string{view(variable).substr(name.size())};
  return {};
}

}  // namespace

SimProcess* SimNode::find(const driver::TaskId& id) {
  const auto found = std::ranges::find_if(processes_, [&id](const SimProcess& process) {
    return process.id == id && !process.forgotten;
  });
  return found == processes_.end() ? nullptr : &*found;
}

client::Driver SimNode::spawn_driver(const PluginAgent& agent) {
  agent_ = agent;
  return system_.own(
      machine_,
      actor::spawn(system_.system(), [this](DriverSelf::pointer self) -> DriverSelf::behavior_type {
        return {
            [this, self](const driver::Ask& msg) { return answer(self, *msg.request); },
            [](const Run& msg) { msg.action(); },
        };
      }));
}

actor::Answer<driver::Answered> SimNode::answer(DriverSelf::pointer self,
                                                schema::plugin::DriverRequest::Reader request) {
  using Which = schema::plugin::DriverRequest::Which;
  switch (request.which()) {
    case Which::DESCRIBE:
      return driver::described(describe());
    case Which::FINGERPRINT:
      return driver::fingerprinted(
          driver::make_fingerprint(true, true, "Healthy", {{"driver.sim", "1"}}));
    case Which::START_TASK:
      return start_task(self, request.getStartTask());
    case Which::RECOVER_TASK:
      return recover_task(request.getRecoverTask());
    case Which::STOP_TASK:
      return stop_task(request.getStopTask());
    case Which::DESTROY_TASK:
      destroy_task(driver::read_id(request.getDestroyTask()));
      return driver::done();
    case Which::END_OTHERS: {
      std::vector<driver::TaskId> kept;
      for (const auto id : request.getEndOthers())
        kept.push_back(driver::read_id(id));
      end_others(kept);
      return driver::done();
    }
    case Which::SIGNAL_TASK:
      return driver::done();
    case Which::TASK_STATS:
      return driver::used({});
    case Which::EXEC_TASK:
      return driver::no_exec();
  }
  return driver::unknown();
}

actor::Answer<driver::Answered> SimNode::start_task(
    DriverSelf::pointer self, const schema::plugin::TaskConfig::Reader& config) {
  const auto settings = ConfigReader::parse(view(config.getConfig()));
  if (!settings) return driver::failed(settings.error());
  const Plan plan{.id = driver::read_id(config.getId()),
                  .run_id = copy(config.getRunId()),
                  .run_for = settings->number("run_for"),
                  .exit_code = static_cast<int>(settings->number("exit")),
                  .token = token_in(config)};
  if (auto* known = find(plan.id)) {
    if (known->run_id == plan.run_id) {
      ++counts_.attached;
      known->attached = true;
      if (!known->running) tell_end(*known);
      return driver::started({1, "sim"});
    }
    if (known->running) return driver::failed({Errc::conflict, "the task is already running"});
    std::erase_if(processes_, [known](const auto& each) { return each.number == known->number; });
  }
  if (faulty_ && random_.chance(0.03)) {
    ++counts_.failed_starts;
    return driver::failed({Errc::unavailable, "the simulated driver could not start the task"},
                          /*recoverable=*/true);
  }
  auto promise = self->make_response_promise<driver::Answered>();
  const auto life = system_.life(machine_);
  // The process is there some time before anybody hears of it.
  system_.at(system_.now() + network_.delay(1ms, 30ms),
             [this, handle = DriverSelf{self}, life, plan, promise] {
               if (system_.life(machine_) != life) return;
               begin(plan);
               system_.at(system_.now() + network_.delay(0ms, 20ms), [handle, promise] {
                 actor::tell(handle, Run{[promise]() mutable {
                               promise.deliver(driver::started({1, "sim"}));
                             }});
               });
             });
  return promise;
}

void SimNode::begin(const Plan& plan) {
  const auto number = next_process_++;
  const SimProcess process{.id = plan.id,
                           .run_id = plan.run_id,
                           .number = number,
                           .running = true,
                           .attached = true,
                           .result = {},
                           .token = plan.token};
  ++counts_.started;
  on_start(*this, process);
  processes_.push_back(process);
  if (plan.run_for <= 0) return;
  const auto exit_code = plan.exit_code;
  if (!faulty_ && exit_code != 0) return;  // in a healed world nothing fails, so that it can rest
  system_.at(system_.now() + std::chrono::milliseconds{plan.run_for}, [this, number, exit_code] {
    ++counts_.ended;
    end(number, exit_code);
  });
}

void SimNode::begin_container(const SimEngine::Process& started) {
  const SimProcess process{.id = started.id,
                           .run_id = started.run_id,
                           .number = next_process_++,
                           .attached = true,
                           .result = {},
                           .container = started.container};
  ++counts_.started;
  ++counts_.containers;
  on_start(*this, process);
  processes_.push_back(process);
  if (started.run_for <= 0) return;
  if (!faulty_ && started.exit_code != 0) return;
  system_.at(system_.now() + std::chrono::milliseconds{started.run_for},
             [this, started] { engine_.end(started.container, started.exit_code); });
}

void SimNode::end_container(const SimEngine::Process& ended, bool unasked) {
  std::erase_if(processes_,
                [&](const SimProcess& each) { return each.container == ended.container; });
  if (unasked)
    violated(
        fmt::format("{} loses the running container of task {} of allocation {}, which nobody "
                    "has asked to end",
                    name_, ended.id.task, ended.id.alloc_id));
}

void SimNode::end(std::uint64_t number, int exit_code) {
  const auto found = std::ranges::find(processes_, number, &SimProcess::number);
  if (found == processes_.end() || !found->running) return;
  found->running = false;
  found->result.code = exit_code;
  if (found->attached) tell_end(*found);
}

void SimNode::tell_end(const SimProcess& process) {
  if (!is_on()) return;
  system_.on(machine_, [&] {
    actor::tell_urgent(agent_, driver::exited(process.id, process.run_id, process.result));
  });
}

driver::Answered SimNode::recover_task(const schema::plugin::RecoverTask::Reader& order) {
  auto* known = find(driver::read_id(order.getId()));
  if (known == nullptr
      || (order.getRunId().size() > 0 && known->run_id != view(order.getRunId()))) {
    if (!order.hasHandle()) return driver::failed({Errc::not_found, "it was never started"});
    return driver::failed({Errc::unavailable, "the task is lost"});
  }
  ++counts_.attached;
  known->attached = true;
  if (!known->running) tell_end(*known);
  return driver::recovered(known->run_id);
}

driver::Answered SimNode::stop_task(const schema::plugin::StopTask::Reader& order) {
  auto* known = find(driver::read_id(order.getId()));
  if (known == nullptr) return driver::found_nothing();
  known->asked = true;
  const auto number = known->number;
  const auto takes = std::min<Time>(Nanoseconds{order.getGrace()}, network_.delay(1ms, 2s));
  system_.at(system_.now() + takes, [this, number] {
    const auto found = std::ranges::find(processes_, number, &SimProcess::number);
    if (found == processes_.end() || !found->running) return;
    ++counts_.killed;
    if (mistake == Mistake::leak_processes && random_.chance(0.3)) {
      auto copy = *found;  // the books say that it has ended
      found->running = false;
      tell_end(*found);
      copy.number = next_process_++;
      copy.attached = false;
      processes_.push_back(copy);
      return;
    }
    end(number, 0);
  });
  return driver::done();
}

void SimNode::end_others(const std::vector<driver::TaskId>& kept) {
  std::vector<driver::TaskId> others;
  for (const auto& process : processes_)
    if (!process.attached && process.container.empty()
        && std::ranges::find(kept, process.id) == kept.end())
      others.push_back(process.id);
  for (const auto& id : others)
    destroy_task(id);
}

void SimNode::destroy_task(const driver::TaskId& id) {
  std::erase_if(processes_, [&](const auto& process) {
    if (process.id != id || process.forgotten
        || (mistake == Mistake::leak_processes && process.running))
      return false;
    if (!process.running) return true;
    ++counts_.killed;
    if (!process.asked)
      violated(fmt::format(
          "{} loses the running task {} of allocation {}, which nobody has asked to end", name_,
          process.id.task, process.id.alloc_id));
    return true;
  });
}

}  // namespace nomad::test
