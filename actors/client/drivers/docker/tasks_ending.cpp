// DockerTasks: forgetting tasks, what nobody looks after, and usage.
#include <algorithm>
#include <filesystem>
#include <thread>

#include <fmt/format.h>

#include "actors/client/drivers/docker/task.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/base/log.hpp"

namespace nomad::client {

using docker::EngineAnswer;
using driver::Answered;
using driver::TaskId;

namespace {

constexpr auto container_remove_pause = std::chrono::seconds{1};
constexpr int container_remove_tries = 30;
constexpr auto docker_reading_time = std::chrono::seconds{10};

/// Older counters say little of the present.
constexpr auto oldest_reading = std::chrono::minutes{5};

/// Nomad's words for what the engine measures.
client_api::TaskUsage docker_usage(const docker::Usage& from,
                                   const docker::CpuCounters& before,
                                   std::uint64_t total_mhz,
                                   std::int64_t unix_now) {
  const auto cores = std::max(std::thread::hardware_concurrency(), 1U);
  client_api::TaskUsage usage;
  usage.timestamp = from.timestamp > 0 ? from.timestamp : unix_now;
  usage.memory = {.rss = from.rss,
                  .cache = from.cache,
                  .swap = from.swap,
                  .mapped_file = from.mapped_file,
                  .usage = from.usage,
                  .max_usage = from.max_usage,
                  .measured = {"RSS", "Cache", "Swap", "Usage", "Max Usage"}};
  if (from.is_cgroup2) usage.memory.measured = {"Cache", "Swap", "Usage"};
  auto& cpu = usage.cpu;
  cpu.throttled_periods = from.throttled_periods;
  cpu.throttled_time = from.throttled_time;
  cpu.measured = {"Throttled Periods", "Throttled Time", "Percent"};
  const auto& now = from.cpu;
  cpu.percent = docker::cpu_percent(now.total, before.total, now.system, before.system, cores);
  cpu.system_mode = docker::cpu_percent(now.kernel, before.kernel, now.total, before.total, cores);
  cpu.user_mode = docker::cpu_percent(now.user, before.user, now.total, before.total, cores);
  cpu.total_ticks = cpu.percent / 100 * static_cast<double>(total_mhz) / cores;
  return usage;
}

}  // namespace

// -- forgetting -----------------------------------------------------------------------------------

/// All that belongs to the run but its container.
void DockerTasks::forget(Task& task) {
  if (task.wait != 0) context_.engine().cancel(task.wait);
  if (task.logs != 0) context_.log_engine().cancel(task.logs);
  if (task.keeper) task.keeper->close();
  task.keeper.reset();
}

actor::Answer<Answered> DockerTasks::destroy(const TaskId& id) {
  std::string container = docker::container_name(id.task, id.alloc_id);
  bool keeps = false;
  if (const auto known = tasks_.find(id); known != tasks_.end()) {
    auto& task = *known->second;
    keeps = !context_.settings().removes_containers && task.stage == Stage::ended;
    release_images(id, task.run_id);
    if (!task.container.empty()) container = task.container;
    forget(task);
    feed_.drop(id);
    const auto starting = task.starting;
    const auto recovering = task.recovering;
    tasks_.erase(known);
    const auto forgotten
        = driver::failed({Errc::cancelled, "the task was destroyed while it was looked for"});
    if (starting.pending()) starting.deliver(forgotten);
    if (recovering.pending()) recovering.deliver(forgotten);
  }
  auto answer = context_.self()->make_response_promise<Answered>();
  if (keeps)
    removed(id, answer);
  else
    remove(id, container, 1, answer);
  return answer;
}

void DockerTasks::remove(const TaskId& id,
                         const std::string& container,
                         int tries,
                         actor::Promise<Answered> answer) {
  context_.ask({.method = "DELETE",
                .target = "/containers/" + docker::escape_target(container) + "?force=1&v=1"},
               std::chrono::seconds{60},
               [this, id, container, tries, answer](const Result<EngineAnswer>& outcome) {
                 std::error_code ignored;
                 std::filesystem::remove(position_file(container), ignored);
                 const bool is_gone = outcome || outcome.error().code == Errc::not_found;
                 if (is_gone || tries >= container_remove_tries) {
                   // Who tidies up later finds it by its labels.
                   if (!is_gone)
                     log::error("client", "docker: container {} is left: {}", container,
                                outcome.error().what);
                   return removed(id, answer);
                 }
                 context_.after(container_remove_pause, [this, id, container, tries, answer] {
                   remove(id, container, tries + 1, answer);
                 });
               });
}

void DockerTasks::removed(const TaskId& id, const actor::Promise<Answered>& answer) {
  leave_network(id.alloc_id, [answer] { answer.deliver(driver::done()); });
}

/// It goes with the last task that joined it.
void DockerTasks::leave_network(const std::string& alloc_id, DockerContext::Action done) {
  const bool others = std::ranges::any_of(tasks_, [&alloc_id](const auto& entry) {
    return entry.first.alloc_id == alloc_id && entry.second->joins;
  });
  if (others) return done();
  infra_.leave(alloc_id, std::move(done));
}

// -- what nobody looks after ----------------------------------------------------------------------

void DockerTasks::list(std::function<void(Result<std::vector<docker::ListedContainer>>)> then) {
  const auto filter
      = fmt::format(R"({{"label":["{}={}"]}})", docker::label::agent, context_.label());
  context_.ask({.target = "/containers/json?all=1&filters=" + docker::escape_target(filter)},
               std::chrono::seconds{30},
               [then = std::move(then)](const Result<EngineAnswer>& answer) {
                 then(answer ? docker::read_containers(answer->body)
                             : Result<std::vector<docker::ListedContainer>>{answer.error()});
               });
}

bool DockerTasks::is_looked_after(const docker::ListedContainer& container,
                                  const std::set<TaskId>& kept) const {
  const auto label = [&container](const char* name) {
    const auto found = container.labels.find(name);
    return found == container.labels.end() ? std::string{} : found->second;
  };
  const auto alloc_id = label(docker::label::alloc);
  if (!label(docker::label::infra).empty()) {
    const auto is_of = [&alloc_id](const TaskId& id) { return id.alloc_id == alloc_id; };
    return std::ranges::any_of(kept, is_of)
           || std::ranges::any_of(tasks_,
                                  [&is_of](const auto& entry) { return is_of(entry.first); });
  }
  const TaskId id{alloc_id, label(docker::label::task)};
  return kept.contains(id) || tasks_.contains(id);
}

void DockerTasks::remove_listed(const docker::ListedContainer& container, const char* why) {
  log::warn("client", "docker: removing container {}: {}",
            container.names.empty() ? container.id : container.names.front(), why);
  drop_container(container.id);
  std::error_code ignored;
  std::filesystem::remove(position_file(container.id), ignored);
}

void DockerTasks::end_others(const std::set<TaskId>& kept,
                             std::function<void(const Result<>&)> done) {
  list([this, kept,
        done = std::move(done)](const Result<std::vector<docker::ListedContainer>>& listed) {
    if (!listed) return done(listed.error());
    for (const auto& container : *listed)
      if (!is_looked_after(container, kept))
        remove_listed(container, "no allocation of this node has it");
    done({});
  });
}

void DockerTasks::end_dangling() {
  list([this](const Result<std::vector<docker::ListedContainer>>& listed) {
    if (!listed) return;
    const auto& settings = context_.settings();
    const auto oldest = context_.options().unix_now() - settings.creation_grace.count();
    for (const auto& container : *listed) {
      const bool is_young = Nanoseconds{std::chrono::seconds{container.created}}.count() > oldest;
      const bool is_kept = !container.running && !settings.removes_containers;
      if (is_young || is_kept || is_looked_after(container, {})) continue;
      if (settings.only_tells_dangling)
        log::warn("client", "docker: container {} is nobody's",
                  container.names.empty() ? container.id : container.names.front());
      else
        remove_listed(container, "nobody looks after it");
    }
  });
}

// -- usage ----------------------------------------------------------------------------------------

void DockerTasks::read_usage(const TaskId& id,
                             std::uint64_t serial,
                             std::function<void(Result<client_api::TaskUsage>)> then) {
  const auto* const task = find(id, serial);
  if (task == nullptr) return then(Error{Errc::not_found, "the task does not run"});
  // With counters of ours it need not wait for the engine to take two samples.
  const bool has_counters
      = !task->counters.empty() && context_.now() - task->read_at < oldest_reading;
  context_.ask(
      {.target = fmt::format("/containers/{}/stats?stream=false{}", task->container,
                             has_counters ? "&one-shot=true" : "")},
      docker_reading_time,
      [this, id, serial, has_counters, then = std::move(then)](const Result<EngineAnswer>& answer) {
        auto* const reading = find(id, serial);
        if (reading == nullptr) return then(Error{Errc::not_found, "the task does not run"});
        if (!answer) return then(answer.error());
        const auto usage = docker::read_usage(answer->body);
        if (!usage) return then(usage.error());
        const auto before = has_counters ? reading->counters : usage->before;
        reading->counters = usage->cpu;
        reading->read_at = context_.now();
        then(docker_usage(*usage, before, context_.options().total_compute_mhz,
                          context_.options().unix_now()));
      });
}

actor::Answer<Answered> DockerTasks::usage(schema::plugin::TaskStats::Reader order) {
  const auto id = driver::read_id(order.getId());
  const auto known = tasks_.find(id);
  if (known == tasks_.end() || known->second->stage == Stage::starting)
    return driver::found_nothing();
  const auto& task = *known->second;
  if (task.stage == Stage::ended) return driver::used({});
  feed_.follow(id, driver::usage_interval(Nanoseconds{order.getInterval()}), context_.now());
  wake_for_feed();
  auto answer = context_.self()->make_response_promise<Answered>();
  read_usage(id, task.serial, [answer](const Result<client_api::TaskUsage>& usage) {
    answer.deliver(usage ? driver::used(*usage)
                         : driver::failed(usage.error(), /*recoverable=*/true));
  });
  return answer;
}

void DockerTasks::wake_for_feed() {
  const auto next = feed_.next();
  if (!next || (wakes_at_ && *wakes_at_ <= *next)) return;
  wakes_at_ = next;
  context_.after(*next - context_.now(), [this, round = ++wake_round_] { readings_due(round); });
}

void DockerTasks::readings_due(std::uint64_t round) {
  if (round != wake_round_) return;
  wakes_at_.reset();
  for (const auto& id : feed_.take_due(context_.now())) {
    auto& task = *tasks_.at(id);  // The feed follows no others.
    if (task.is_read) continue;
    task.is_read = true;
    read_usage(id, task.serial,
               [this, id, serial = task.serial](const Result<client_api::TaskUsage>& usage) {
                 auto* const read = find(id, serial);
                 if (read == nullptr) return;
                 read->is_read = false;
                 if (!feed_.follows(id)) return;
                 const auto& host = context_.options().host;
                 if (usage)
                   context_.self()->send(host, driver::told_usage(id, read->run_id, *usage));
                 else
                   context_.self()->send(host, driver::usage_failed(id, read->run_id, usage.error(),
                                                                    /*recoverable=*/true));
               });
  }
  wake_for_feed();
}

}  // namespace nomad::client
