#include "actors/client/node/orphans.hpp"

#include <chrono>
#include <utility>

#include "runtime/base/log.hpp"

namespace nomad::client {

namespace {

constexpr auto end_timeout = std::chrono::minutes{1};

}  // namespace

void Orphans::end_tasks(const KnownDrivers& drivers, const std::vector<driver::TaskId>& kept) {
  for (const auto& [name, driver] : drivers)
    end_tasks_of(name, driver.driver, kept);
}

/// A driver that cannot hear it now is told once another one has followed it.
void Orphans::end_tasks_of(const std::string& name,
                           const Driver& driver,
                           const std::vector<driver::TaskId>& kept) {
  owed_.insert(name);
  const auto failed = [name](const Error& err) {
    log::error("client", "a driver could not look for tasks without a record",
               {{"driver", name}, {"error", err}});
  };
  self_->request(driver, end_timeout, driver::end_others(kept))
      .then(
          [this, name, failed](const driver::Answered& answer) {
            owed_.erase(name);
            if (const auto refusal = driver::refusal_of(answer, driver::DriverAnswer::DONE))
              failed(refusal->error);
          },
          failed);
}

/// Which of the recorded ones are unknown is judged when they are read: an allocation that has come
/// meanwhile is here by then.
void Orphans::take_networks_down(const network::NetworkOptions& options,
                                 std::function<bool(const std::string& alloc_id)> is_known) {
  if (std::exchange(takes_down_, true)) return;
  const network::AllocNetworks networks{options, network::real_tools(options)};
  self_
      ->request(steps_, actor::infinite, blocking::make([networks] {
                  return Result<std::vector<std::string>>{networks.recorded()};
                }))
      .then(
          [this, networks, is_known = std::move(is_known)](blocking::Outcome& recorded) {
            auto unknown = recorded.as<std::vector<std::string>>();
            std::erase_if(unknown, is_known);
            take_down(networks, std::move(unknown));
          },
          [this](const Error& err) { taken_down(err); });
}

void Orphans::take_down(const network::AllocNetworks& networks, std::vector<std::string> unknown) {
  if (unknown.empty()) return taken_down({});
  log::warn("client", "taking down networks that belong to no allocation of this node",
            {{"count", unknown.size()}});
  const auto run = [networks, unknown = std::move(unknown)] { return networks.leave_all(unknown); };
  self_->request(steps_, actor::infinite, blocking::make(run))
      .then([this](const blocking::Outcome&) { taken_down({}); },
            [this](const Error& err) { taken_down(err); });
}

void Orphans::taken_down(const Result<>& outcome) {
  takes_down_ = false;
  if (!outcome)
    log::error("client", "a network stays until the next collection", {{"error", outcome.error()}});
}

}  // namespace nomad::client
