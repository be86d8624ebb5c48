// DockerTasks: what nobody looks after, and usage.
#include <algorithm>

#include <fmt/format.h>

#include "actors/client/drivers/docker/run.hpp"
#include "runtime/base/log.hpp"
#include "runtime/base/text.hpp"
#include "runtime/docker/held_binds.hpp"

namespace nomad::client {

using docker::EngineOutcome;
using driver::Answered;
using driver::TaskId;

namespace {

constexpr auto list_time = std::chrono::seconds{30};
constexpr auto reading_time = std::chrono::seconds{10};

/// Older counters say little of the present.
constexpr auto oldest_reading = std::chrono::minutes{5};

}  // namespace

// -- what nobody looks after ----------------------------------------------------------------------

void DockerTasks::list(std::function<void(const Result<Listed>&)> then) {
  const auto filter
      = fmt::format(R"({{"label":["{}={}"]}})", docker::label::agent, context_.label());
  context_.ask(
      {.target = "/containers/json?all=1&filters=" + percent_encode(filter)}, list_time,
      [then = std::move(then)](const EngineOutcome& answer) {
        then(answer ? docker::read_containers(answer->body) : Result<Listed>{answer.error()});
      });
}

bool DockerTasks::is_looked_after(const docker::ListedContainer& container,
                                  const std::set<TaskId>& kept) const {
  const auto label = [&container](const char* name) {
    const auto found = container.labels.find(name);
    return found == container.labels.end() ? std::string{} : found->second;
  };
  const auto is_named = [&container](const std::string& name) {
    return std::ranges::find(container.names, name) != container.names.end();
  };
  const auto alloc_id = label(docker::label::alloc);
  if (is_named(docker::infra_name(alloc_id))) {
    const auto is_of = [&alloc_id](const TaskId& id) { return id.alloc_id == alloc_id; };
    return std::ranges::any_of(kept, is_of)
           || std::ranges::any_of(runs_,
                                  [&is_of](const auto& entry) { return is_of(entry.second->id); });
  }
  const TaskId id{alloc_id, label(docker::label::task)};
  // Labels may be an image's, which somebody else runs; the names of ours follow from them.
  if (!is_named(docker::container_name(id.task, id.alloc_id))) return true;
  return kept.contains(id) || wanted_.find(id) != nullptr;
}

void DockerTasks::remove_listed(const docker::ListedContainer& container, const char* why) {
  log::warn("client", "removing a container",
            {{"driver", "docker"},
             {"container", container.names.empty() ? container.id : container.names.front()},
             {"error", why}});
  context_.ask(docker::removal_of(container.id),
               [this, id = container.id](const EngineOutcome& answer) {
                 if (answer || answer.error().code == Errc::not_found)
                   return forget_logs(id, [] {});
                 log::warn("client", "a container is left",
                           {{"driver", "docker"}, {"container", id}, {"error", answer.error()}});
               });
}

void DockerTasks::end_others(const std::set<TaskId>& kept,
                             std::function<void(const Result<>&)> done) {
  list([this, kept, done = std::move(done)](const Result<Listed>& listed) {
    if (!listed) return done(listed.error());
    for (const auto& container : *listed)
      if (!is_looked_after(container, kept))
        remove_listed(container, "no allocation of this node has it");
    done({});
  });
}

void DockerTasks::end_dangling() {
  list([this](const Result<Listed>& listed) {
    if (!listed) return;
    const auto& settings = context_.settings();
    const auto oldest = context_.options().unix_now() - settings.creation_grace.count();
    for (const auto& container : *listed) {
      const bool is_young = Nanoseconds{std::chrono::seconds{container.created}}.count() > oldest;
      const bool is_kept = !container.running && !settings.removes_containers;
      if (is_young || is_kept || is_looked_after(container, {})) continue;
      if (settings.only_tells_dangling)
        log::warn(
            "client", "a container belongs to no allocation",
            {{"driver", "docker"},
             {"container", container.names.empty() ? container.id : container.names.front()}});
      else
        remove_listed(container, "nobody looks after it");
    }
  });
}

// -- held binds -----------------------------------------------------------------------------------

std::string DockerTasks::binds_folder() const {
  return context_.options().state_dir + "/docker-binds";
}

/// "" for one that needs none. A later agent knows by the name whose it is.
std::string DockerTasks::binds_location(const Run& run) const {
  const auto& task = run.spec.settings;
  if (context_.settings().allows_volumes || (task.volumes.empty() && task.mounts.empty()))
    return {};
  return fmt::format("{}/{}/{}.{}", binds_folder(), life_,
                     docker::container_name(run.id.task, run.id.alloc_id), run.number);
}

void DockerTasks::release_location(const std::string& location) {
  if (location.empty()) return;
  context_.work<bool>(
      [location]() -> Result<bool> {
        docker::release_binds(location);
        return true;
      },
      [](const Result<bool>&) {});
}

/// What an earlier agent held for the run, too.
void DockerTasks::release_binds(const Run& run) {
  release_location(run.binds_location);
  const auto name = docker::container_name(run.id.task, run.id.alloc_id);
  release_others([name](const std::string& other) { return other != name; });
}

void DockerTasks::release_left_binds(const std::set<TaskId>& kept) {
  std::set<std::string> names;
  for (const auto& id : kept)
    names.insert(docker::container_name(id.task, id.alloc_id));
  for (const auto& [number, run] : runs_)
    names.insert(docker::container_name(run->id.task, run->id.alloc_id));
  release_others([names](const std::string& name) { return names.contains(name); });
}

void DockerTasks::release_others(std::function<bool(const std::string& container)> is_kept) {
  context_.work<bool>(
      [folder = binds_folder(), life = life_, is_kept = std::move(is_kept)]() -> Result<bool> {
        docker::release_binds_of_others(folder, life, [&is_kept](std::string_view location) {
          return is_kept(std::string{location.substr(0, location.rfind('.'))});
        });
        return true;
      },
      [](const Result<bool>&) {});
}

// -- usage ----------------------------------------------------------------------------------------

void DockerTasks::read_usage(Number number,
                             std::function<void(Result<client_api::TaskUsage>)> then) {
  const auto& asked = *runs_.at(number);
  // With counters of ours it need not wait for the engine to take two samples.
  const bool has_counters
      = !asked.counters.empty() && context_.now() - asked.read_at < oldest_reading;
  context_.ask({.target = fmt::format("{}/stats?stream=false{}",
                                      docker::container_path(asked.machine.container()),
                                      has_counters ? "&one-shot=true" : "")},
               reading_time,
               [this, number, has_counters, then = std::move(then)](const EngineOutcome& answer) {
                 const auto found = runs_.find(number);
                 if (found == runs_.end())
                   return then(Error{Errc::not_found, "the task does not run"});
                 if (!answer) return then(answer.error());
                 const auto usage = docker::read_usage(answer->body);
                 if (!usage) return then(usage.error());
                 auto& run = *found->second;
                 const auto before = has_counters ? run.counters : usage->before;
                 run.counters = usage->cpu;
                 run.read_at = context_.now();
                 then(docker_usage(*usage, before, context_.options().total_compute_mhz,
                                   context_.options().unix_now()));
               });
}

actor::Answer<Answered> DockerTasks::usage(schema::plugin::TaskStats::Reader order) {
  const auto id = driver::read_id(order.getId());
  if (find(id, Stage::ended) != nullptr) return driver::used({});
  const auto* const run = find(id, Stage::running);
  if (run == nullptr) return driver::found_nothing();
  wanted_.usage().follow(id, Nanoseconds{order.getInterval()}, context_.now());
  wake_for_streams();
  auto answer = context_.self()->make_response_promise<Answered>();
  read_usage(run->number, [answer](const Result<client_api::TaskUsage>& usage) {
    answer.deliver(usage ? driver::used(*usage)
                         : driver::failed(usage.error(), /*recoverable=*/true));
  });
  return answer;
}

void DockerTasks::wake_for_streams() {
  if (const auto wake = wanted_.usage().take_wake(context_.now()))
    context_.after(wake->delay, [this, round = wake->round] { readings_due(round); });
}

void DockerTasks::readings_due(std::uint64_t round) {
  for (const auto& reading : wanted_.usage().take_due(round, context_.now()))
    read_usage(wanted_.find(reading.id)->number,  // There are no streams of others.
               [this, reading](const Result<client_api::TaskUsage>& usage) {
                 if (!wanted_.usage().end_reading(reading)) return;
                 const auto& run_id = wanted_.find(reading.id)->run_id;
                 context_.self()->send(context_.options().agent,
                                       driver::told_usage(reading.id, run_id, usage));
               });
  wake_for_streams();
}

}  // namespace nomad::client
