#include "actors/server/scheduler_pool.hpp"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

#include "runtime/base/ids.hpp"
#include "runtime/base/log.hpp"

namespace nomad::server {
namespace {

constexpr unsigned most_workers = 128;
constexpr std::string_view core_type = "_core";
constexpr std::array<std::string_view, 4> own_types{"service", "batch", "system", "sysbatch"};

}  // namespace

Result<> check_settings(const SchedulerSettings& settings) {
  const auto wrong = [](std::string what) {
    return Error{Errc::invalid_argument, std::move(what)};
  };
  if (settings.workers > most_workers)
    return wrong(
        fmt::format("num_schedulers: expected 0 to {}, not {}", most_workers, settings.workers));
  std::set<std::string_view> seen;
  for (const auto& type : settings.types) {
    if (type != core_type && std::ranges::find(own_types, type) == own_types.end())
      return wrong(
          fmt::format("enabled_schedulers: there is no scheduler \"{}\"; expected service, "
                      "batch, system, sysbatch and _core",
                      type));
    if (!seen.insert(type).second)
      return wrong(fmt::format("enabled_schedulers: \"{}\" is there twice", type));
  }
  if (!seen.contains(core_type))
    return wrong("enabled_schedulers: \"_core\" has to be one of them");
  return {};
}

std::vector<std::string> asked_types(const SchedulerSettings& settings) {
  auto types = settings.types;
  std::erase(types, core_type);
  // It is every type that is not named beside it: of Nomad's own all have to be.
  if (types.size() == own_types.size()) types.emplace_back(cluster::EvalQueue::other_types);
  return types;
}

SchedulerPool::SchedulerPool(Spawn spawn, SchedulerSettings settings)
    : spawn_{std::move(spawn)}, settings_{std::move(settings)} {
  obey();
}

SchedulerSettings SchedulerPool::settings() const {
  const std::lock_guard lock{guard_};
  return settings_;
}

void SchedulerPool::change(SchedulerSettings settings) {
  const std::lock_guard lock{guard_};
  if (settings == settings_) return;
  settings_ = std::move(settings);
  log::info("worker", "the schedulers have changed",
            {{"workers", settings_.workers}, {"types", settings_.types.size()}});
  obey();
}

std::vector<SchedulerPool::Worker> SchedulerPool::workers() const {
  const std::lock_guard lock{guard_};
  return {workers_.begin(),
          workers_.begin() + std::min<std::ptrdiff_t>(settings_.workers, std::ssize(workers_))};
}

void SchedulerPool::obey() {
  const auto types = asked_types(settings_);
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    workers_[i].types->set(i < settings_.workers ? types : std::vector<std::string>{});
    actor::tell(workers_[i].actor, TypesChanged{});
  }
  auto random = Random::from_system();
  while (workers_.size() < settings_.workers) {
    Worker worker{make_uuid(random), std::make_shared<WorkerTypes>(), {}};
    worker.types->set(types);
    worker.actor = spawn_(worker);
    workers_.push_back(std::move(worker));
  }
}

}  // namespace nomad::server
