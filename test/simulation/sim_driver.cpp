// SimNode's driver and the processes behind it.
#include <algorithm>

#include <boost/json/object.hpp>

#include "actors/core/supervise.hpp"
#include "test/simulation/sim_node.hpp"

namespace nomad::test {

using namespace std::chrono_literals;
using namespace client;

namespace {

/// A member of the task's configuration, or `otherwise`.
std::int64_t number_of(const driver::TaskConfig& config, const char* name, std::int64_t otherwise) {
  const auto* object = config.config.if_object();
  const auto* member = object == nullptr ? nullptr : object->if_contains(name);
  return member != nullptr && member->is_int64() ? member->as_int64() : otherwise;
}

}  // namespace

SimProcess* SimNode::find(const driver::TaskId& id) {
  const auto found = std::ranges::find_if(processes_, [&id](const SimProcess& process) {
    return process.id == id && !process.forgotten;
  });
  return found == processes_.end() ? nullptr : &*found;
}

client::Driver SimNode::spawn_driver() {
  return system_.own(
      machine_,
      actor::spawn(system_.system(), [this](DriverSelf::pointer self) -> DriverSelf::behavior_type {
        return {
            [this, self](driver::StartTask& msg) { return start_task(self, msg); },
            [this](const driver::RecoverTask& msg) { return recover_task(msg); },
            [this](const driver::StopTask& msg) { return stop_task(msg); },
            [this](const driver::DestroyTask& msg) {
              destroy_task(msg);
              return driver::Done{};
            },
            [this](const driver::EndOthers& msg) {
              end_others(msg);
              return driver::Done{};
            },
            [](const driver::SignalTask&) { return driver::Done{}; },
            [](const driver::TaskStats&) { return client_api::TaskUsage{}; },
            [](const driver::ExecTask&) -> actor::Answer<client_api::ExecStarted> {
              return driver::no_exec();
            },
            [](driver::Fingerprint) {
              return driver::Health{.detected = true,
                                    .healthy = true,
                                    .description = "Healthy",
                                    .attributes = {{"driver.sim", "1"}}};
            },
            [](const Run& msg) { msg.action(); },
        };
      }));
}

actor::Answer<driver::Started> SimNode::start_task(DriverSelf::pointer self,
                                                   driver::StartTask& msg) {
  if (auto* known = find(msg.config->id)) {
    if (known->run_id == msg.config->run_id) {
      ++counts_.attached;
      known->attached = true;
      listeners_[known->number] = msg.listener;
      if (!known->running) tell_end(*known);
      return driver::Started{"sim", {}};
    }
    if (known->running) return Error{Errc::conflict, "the task is already running"};
    if (!known->running)
      std::erase_if(processes_, [known](const auto& each) { return each.number == known->number; });
  }
  if (faulty_ && random_.chance(0.03)) {
    ++counts_.failed_starts;
    return Error{Errc::unavailable, "the simulated driver could not start the task"};
  }
  auto promise = self->make_response_promise<driver::Started>();
  const auto life = system_.life(machine_);
  // The process is there some time before anybody hears of it.
  system_.at(system_.now() + network_.delay(1ms, 30ms),
             [this, handle = DriverSelf{self}, life, msg, promise] {
               if (system_.life(machine_) != life) return;
               begin(*msg.config, msg.listener);
               system_.at(system_.now() + network_.delay(0ms, 20ms), [handle, promise] {
                 actor::tell(handle, Run{[promise]() mutable {
                               promise.deliver(driver::Started{"sim", {}});
                             }});
               });
             });
  return promise;
}

void SimNode::begin(const driver::TaskConfig& config, const TaskListener& listener) {
  const auto number = next_process_++;
  const SimProcess process{.id = config.id,
                           .run_id = config.run_id,
                           .number = number,
                           .running = true,
                           .attached = true,
                           .result = {}};
  ++counts_.started;
  on_start(*this, process);
  processes_.push_back(process);
  listeners_[number] = listener;
  const auto run_for = number_of(config, "run_for", 0);
  if (run_for <= 0) return;
  const auto exit_code = static_cast<int>(number_of(config, "exit", 0));
  if (!faulty_ && exit_code != 0) return;  // in a healed world nothing fails, so that it can rest
  system_.at(system_.now() + std::chrono::milliseconds{run_for}, [this, number, exit_code] {
    ++counts_.ended;
    end(number, exit_code);
  });
}

void SimNode::end(std::uint64_t number, int exit_code) {
  const auto found = std::ranges::find(processes_, number, &SimProcess::number);
  if (found == processes_.end() || !found->running) return;
  found->running = false;
  found->result.code = exit_code;
  if (found->attached) tell_end(*found);
}

void SimNode::tell_end(const SimProcess& process) {
  const auto listener = listeners_.find(process.number);
  if (listener == listeners_.end() || !is_on()) return;
  system_.on(machine_, [&] {
    actor::tell(listener->second, driver::Exited{process.id, process.run_id, process.result});
  });
}

actor::Answer<driver::Recovered> SimNode::recover_task(const driver::RecoverTask& msg) {
  auto* known = find(msg.id);
  if (known == nullptr || (!msg.run_id.empty() && known->run_id != msg.run_id)) {
    if (msg.handle.empty()) return Error{Errc::not_found, "it was never started"};
    return Error{Errc::unavailable, "the task is lost"};
  }
  ++counts_.attached;
  known->attached = true;
  listeners_[known->number] = msg.listener;
  if (!known->running) tell_end(*known);
  return driver::Recovered{known->run_id};
}

actor::Answer<driver::Done> SimNode::stop_task(const driver::StopTask& msg) {
  auto* known = find(msg.id);
  if (known == nullptr) return Error{Errc::not_found, "task not found"};
  const auto number = known->number;
  const auto takes = std::min<Time>(msg.grace, network_.delay(1ms, 2s));
  system_.at(system_.now() + takes, [this, number] {
    const auto found = std::ranges::find(processes_, number, &SimProcess::number);
    if (found == processes_.end() || !found->running) return;
    ++counts_.killed;
    if (mutation_ == NodeMutation::leak_processes && random_.chance(0.3)) {
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
  return driver::Done{};
}

void SimNode::end_others(const driver::EndOthers& msg) {
  std::vector<driver::TaskId> others;
  for (const auto& process : processes_)
    if (!process.attached && std::ranges::find(msg.kept, process.id) == msg.kept.end())
      others.push_back(process.id);
  for (const auto& id : others)
    destroy_task({id});
}

void SimNode::destroy_task(const driver::DestroyTask& msg) {
  std::erase_if(processes_, [&](const auto& process) {
    if (process.id != msg.id || process.forgotten
        || (mutation_ == NodeMutation::leak_processes && process.running))
      return false;
    if (process.running) ++counts_.killed;
    listeners_.erase(process.number);
    return true;
  });
}

}  // namespace nomad::test
