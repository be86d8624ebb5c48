// /v1/metrics, in Nomad's own form and Prometheus'. What the client node uses is asked for when
// somebody looks, not measured all the time.
#include <algorithm>
#include <optional>

#include "actors/api/agent/server_gauges.hpp"
#include "actors/api/http/call.hpp"
#include "actors/api/http/routes.hpp"
#include "actors/core/actor_registry.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/telemetry/process_metrics.hpp"

namespace nomad::api {
namespace {

using client::client_api::AllocCounts;
using client::client_api::ClientMetrics;
using client::client_api::CpuUsage;
using client::client_api::HostUsage;
using client::client_api::MemoryUsage;
using client::client_api::ReadMetrics;
using client::client_api::TaskMetrics;
using telemetry::Gauges;
using telemetry::Labels;

/// The client answers within three.
constexpr std::chrono::seconds client_timeout{5};

std::string_view status_of(schema::Node::Reader node) {
  constexpr std::string_view names[] = {"initializing", "ready", "down", "disconnected"};
  return names[static_cast<std::size_t>(node.getStatus())];
}

/// Of the node itself; what servers decide about it as they know it, if this agent has a server.
Labels node_labels(const Context& context, schema::Node::Reader node) {
  const auto node_class = view(node.getNodeClass());
  Labels labels{{"node_id", copy(node.getId())},
                {"datacenter", copy(node.getDatacenter())},
                {"node_class", node_class.empty() ? "none" : std::string{node_class}},
                {"node_pool", copy(node.getNodePool())}};
  if (!context.state.store) return labels;
  const auto known = context.state.store->snapshot().node(view(node.getId()));
  if (!known) return labels;
  labels.emplace_back("node_status", status_of(*known));
  labels.emplace_back("node_scheduling_eligibility",
                      known->getSchedulingEligibility() == schema::SchedulingEligibility::ELIGIBLE
                          ? "eligible"
                          : "ineligible");
  return labels;
}

/// What of the node is promised to allocations, and what is left.
void set_allocated(Gauges& gauges, const ClientMetrics& client, const Labels& labels) {
  const auto& taken = client.allocated;
  const auto all = client.node->getNodeResources();
  const auto kept = client.node->getReservedResources();
  const auto set = [&](std::string_view name, std::int64_t value) {
    gauges.set(name, static_cast<double>(value), labels);
  };
  const auto left = [&](std::int64_t total, std::uint64_t reserved, std::int64_t used) {
    return total - static_cast<std::int64_t>(reserved) - used;
  };
  set("client.allocated.cpu", taken.cpu_mhz);
  set("client.allocated.memory", taken.memory_mb);
  set("client.allocated.max_memory", taken.memory_max_mb);
  set("client.allocated.disk", taken.disk_mb);
  set("client.unallocated.cpu",
      left(all.getCpu().getCpuShares(), kept.getCpu().getCpuShares(), taken.cpu_mhz));
  set("client.unallocated.memory",
      left(all.getMemory().getMemoryMb(), kept.getMemory().getMemoryMb(), taken.memory_mb));
  set("client.unallocated.disk",
      left(all.getDisk().getDiskMb(), kept.getDisk().getDiskMb(), taken.disk_mb));
  for (const auto network : all.getNetworks()) {  // bandwidth is promised to nobody any more
    auto of_device = labels;
    of_device.emplace_back("device", copy(network.getDevice()));
    gauges.set("client.unallocated.network", static_cast<double>(network.getMBits()), of_device);
  }
}

/// Of memory what the driver measures, and what is not zero anyway, as in Nomad.
class TaskGauges {
public:
  TaskGauges(Gauges& gauges, const Labels& labels) : gauges_{gauges}, labels_{labels} {}

  void set(std::string_view name,
           double value,
           std::string_view measure,
           const std::vector<std::string>& measured) {
    if (value != 0 || std::ranges::find(measured, measure) != measured.end()) set(name, value);
  }

  void set(std::string_view name, double value) {
    gauges_.set(std::string{"client.allocs."}.append(name), value, labels_);
  }

private:
  Gauges& gauges_;
  const Labels& labels_;
};

void set_memory(TaskGauges& gauges, const MemoryUsage& used) {
  const auto set = [&](std::string_view name, std::string_view measure, std::uint64_t value) {
    gauges.set(name, static_cast<double>(value), measure, used.measured);
  };
  set("memory.rss", "RSS", used.rss);
  set("memory.cache", "Cache", used.cache);
  set("memory.swap", "Swap", used.swap);
  set("memory.mapped_file", "Mapped File", used.mapped_file);
  set("memory.usage", "Usage", used.usage);
  set("memory.max_usage", "Max Usage", used.max_usage);
  set("memory.kernel_usage", "Kernel Usage", used.kernel_usage);
  set("memory.kernel_max_usage", "Kernel Max Usage", used.kernel_max_usage);
}

void set_cpu(TaskGauges& gauges, const CpuUsage& used) {
  gauges.set("cpu.total_percent", used.percent);
  gauges.set("cpu.system", used.system_mode);
  gauges.set("cpu.user", used.user_mode);
  gauges.set("cpu.throttled_time", static_cast<double>(used.throttled_time));
  gauges.set("cpu.throttled_periods", static_cast<double>(used.throttled_periods));
  gauges.set("cpu.total_ticks", used.total_ticks);
}

void set_task(Gauges& all, const TaskMetrics& task) {
  constexpr double mebibyte = 1 << 20;
  TaskGauges gauges{all, task.labels};
  set_memory(gauges, task.usage.memory);
  set_cpu(gauges, task.usage.cpu);
  gauges.set("cpu.allocated", static_cast<double>(task.allocated.cpu_mhz));
  gauges.set("memory.allocated", static_cast<double>(task.allocated.memory_mb) * mebibyte);
  gauges.set("memory.max_allocated", static_cast<double>(task.allocated.memory_max_mb) * mebibyte);
}

void set_host_gauges(Gauges& gauges, const Labels& node, const HostUsage& usage) {
  const auto set = [&](std::string_view name, double value) { gauges.set(name, value, node); };
  set("client.host.memory.total", static_cast<double>(usage.memory.total));
  set("client.host.memory.available", static_cast<double>(usage.memory.available));
  set("client.host.memory.used", static_cast<double>(usage.memory.used));
  set("client.host.memory.free", static_cast<double>(usage.memory.free));
  set("client.uptime", static_cast<double>(usage.uptime_seconds));
  double busy = 0;
  for (const auto& core : usage.cpu)
    busy += core.total;
  for (const auto& core : usage.cpu) {
    auto labels = node;
    labels.emplace_back("cpu", core.cpu);
    gauges.set("client.host.cpu.total_percent", core.total, labels);
    gauges.set("client.host.cpu.total", core.total, labels);
    gauges.set("client.host.cpu.user", core.user, labels);
    gauges.set("client.host.cpu.system", core.system, labels);
    gauges.set("client.host.cpu.idle", core.idle, labels);
    gauges.set("client.host.cpu.total_ticks",
               busy > 0 ? usage.cpu_ticks_consumed * core.total / busy : 0, labels);
  }
  for (const auto& disk : usage.disks) {
    auto labels = node;
    labels.emplace_back("disk", disk.device);
    gauges.set("client.host.disk.size", static_cast<double>(disk.size), labels);
    gauges.set("client.host.disk.used", static_cast<double>(disk.used), labels);
    gauges.set("client.host.disk.available", static_cast<double>(disk.available), labels);
    gauges.set("client.host.disk.used_percent", disk.used_percent, labels);
    gauges.set("client.host.disk.inodes_percent", disk.inodes_used_percent, labels);
  }
}

void set_counts(Gauges& gauges, const Labels& node, const AllocCounts& counts) {
  const auto set = [&](std::string_view name, std::size_t value) {
    gauges.set(name, static_cast<double>(value), node);
  };
  set("client.allocations.blocked", 0);
  set("client.allocations.migrating", 0);
  set("client.allocations.pending", counts.pending);
  set("client.allocations.running", counts.running);
  set("client.allocations.terminal", counts.terminal);
}

/// What was asked for an answer.
struct Looked {
  ClientMetrics client = {};
  ServerLook server = {};
};

/// Takes long: a gauge for each state of each of many jobs' groups.
Answer render(const Context& context,
              telemetry::Registry& registry,
              bool as_prometheus,
              const Looked& looked) {
  const auto collect = [&](Gauges& gauges) {
    telemetry::set_runtime(gauges);
    // What runs beside each other here are actors.
    gauges.set("runtime.num_goroutines",
               static_cast<double>(actor::list_actors(context.system).size()));
    set_server_gauges(gauges, looked.server);
    const auto& client = looked.client;
    if (!client.node) return;
    const auto node = node_labels(context, *client.node);
    if (client.host) set_host_gauges(gauges, node, *client.host);
    set_allocated(gauges, client, node);
    set_counts(gauges, node, client.counts);
    for (const auto& task : client.tasks)
      set_task(gauges, task);
  };
  if (!as_prometheus) return Answer::json(registry.json(unix_now(), collect));
  return {.content_type = "text/plain; version=0.0.4; charset=utf-8",
          .body = registry.prometheus(unix_now(), collect) + telemetry::process_text()};
}

/// Renders when the servers have been looked at, too.
void look_on(const SharedCall& call,
             const MetricsSources& sources,
             bool as_prometheus,
             ClientMetrics client) {
  look_at_server(
      call->context, sources.cluster,
      [call, &sources, as_prometheus, client = std::move(client)](const ServerLook& server) {
        run_on(call->context->pool, call,
               [&sources, as_prometheus,
                looked = Looked{client, server}](const Call& shared) -> Outcome {
                 return render(*shared.context, *sources.metrics.registry, as_prometheus, looked);
               });
      });
}

Outcome metrics(Call& call, const MetricsSources& sources) {
  const auto& kept = sources.metrics;
  const bool as_prometheus = call.request().parameter_or_empty("format") == "prometheus";
  if (as_prometheus && !kept.prometheus) return Answer::text(415, "Prometheus is not enabled");
  if (!kept.registry) return Error{Errc::internal, "this agent keeps no metrics"};
  const auto shared = share(std::move(call));
  if (!sources.client) {
    look_on(shared, sources, as_prometheus, {});
    return later;
  }
  shared->context->asker.ask<ClientMetrics>(
      sources.client, ReadMetrics{.of_tasks = kept.of_tasks}, client_timeout,
      [shared, &sources, as_prometheus](Result<ClientMetrics> client) {
        look_on(shared, sources, as_prometheus, client ? std::move(*client) : ClientMetrics{});
      });
  return later;
}

}  // namespace

void add_metrics_routes(Routes& routes, MetricsSources sources) {
  const auto with = routes.with(std::move(sources));
  routes.exact("/v1/metrics", {{Methods::get, Capability::none, with(metrics), Where::agent}});
}

}  // namespace nomad::api
