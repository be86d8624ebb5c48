#include "runtime/telemetry/server_metrics.hpp"

#include <utility>

namespace nomad::telemetry {
namespace {

std::string full_name(std::string_view name) {
  return "nomad." + std::string{name};
}

}  // namespace

std::shared_ptr<ServerMetrics> ServerMetrics::make(std::shared_ptr<Registry> registry) {
  const std::shared_ptr<ServerMetrics> metrics{new ServerMetrics{registry}};
  if (!registry) return metrics;
  registry->add_collector([weak = std::weak_ptr{metrics}](Gauges& into) {
    const auto all = weak.lock();
    if (!all) return;
    const std::scoped_lock lock{all->guard_};
    for (const auto& [owner, gauges] : all->gauges_)
      for (const auto& gauge : gauges)
        into.set(full_name(gauge.name), gauge.value, gauge.labels);
  });
  return metrics;
}

void ServerMetrics::measure(std::string_view name, std::chrono::nanoseconds took) {
  if (!registry_) return;
  Sample* sample = nullptr;
  {
    const std::scoped_lock lock{guard_};
    auto known = samples_.find(name);
    if (known == samples_.end())
      known = samples_.emplace(name, &registry_->sample(full_name(name))).first;
    sample = known->second;
  }
  sample->observe(std::chrono::duration<double, std::milli>{took}.count());
}

void ServerMetrics::count(std::string_view name, std::uint64_t more) {
  if (registry_) registry_->counter(full_name(name)).add(static_cast<double>(more));
}

void ServerMetrics::count_rejected(const std::string& node_id) {
  if (registry_)
    registry_->passing_counter(full_name("plan.node_rejected"), {{"node_id", node_id}})->add();
}

void ServerMetrics::show(std::string_view owner, std::vector<Gauge> gauges) {
  if (!registry_) return;
  const std::scoped_lock lock{guard_};
  gauges_.insert_or_assign(std::string{owner}, std::move(gauges));
}

}  // namespace nomad::telemetry
