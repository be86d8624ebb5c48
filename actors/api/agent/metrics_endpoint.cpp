// /v1/metrics, in Nomad's own form and Prometheus'. What the client node uses is asked for when
// somebody looks, not measured all the time.
#include "actors/api/http/call.hpp"
#include "actors/api/http/routes.hpp"
#include "runtime/object/draft.hpp"

namespace nomad::api {
namespace {

using client::client_api::AllocCounts;
using client::client_api::HostUsage;
using telemetry::Labels;
using telemetry::Registry;

constexpr std::chrono::seconds client_timeout{2};

/// As the servers know the node, if this agent has a server; else by what the agent itself knows.
/// Only what hardly ever changes: a gauge stays under the labels that it was first set with.
Labels node_labels(const Context& context) {
  const auto& agent = context.options.agent;
  Labels labels{{"node_id", agent.node_id}, {"datacenter", agent.datacenter}};
  if (!context.options.store) return labels;
  const auto node = context.options.store->snapshot().node(agent.node_id);
  if (!node) return labels;
  const auto node_class = view(node->getNodeClass());
  labels.emplace_back("node_class", node_class.empty() ? "none" : node_class);
  labels.emplace_back("node_pool", view(node->getNodePool()));
  return labels;
}

/// What of the node is promised to allocations, and what is left.
void set_allocated(Registry& registry, const Context& context, const Labels& labels) {
  if (!context.options.store) return;
  const auto& id = context.options.agent.node_id;
  const auto snapshot = context.options.store->snapshot();
  const auto node = snapshot.node(id);
  if (!node) return;
  const auto* usage = snapshot.usage(id);
  const auto taken = usage != nullptr ? usage->total() : state::Demand{};
  const auto all = node->getNodeResources();
  const auto kept = node->getReservedResources();
  const auto set = [&](std::string_view name, std::int64_t value) {
    registry.gauge(name, labels).set(static_cast<double>(value));
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
}

void set_host_gauges(Registry& registry, const Labels& node, const HostUsage& usage) {
  const auto set
      = [&](std::string_view name, double value) { registry.gauge(name, node).set(value); };
  set("client.host.memory.total", static_cast<double>(usage.memory_total));
  set("client.host.memory.available", static_cast<double>(usage.memory_available));
  set("client.host.memory.used", static_cast<double>(usage.memory_used));
  set("client.host.memory.free", static_cast<double>(usage.memory_free));
  set("client.uptime", static_cast<double>(usage.uptime_seconds));
  double busy = 0;
  for (const auto& core : usage.cpu)
    busy += core.total;
  for (const auto& core : usage.cpu) {
    auto labels = node;
    labels.emplace_back("cpu", core.cpu);
    registry.gauge("client.host.cpu.total_percent", labels).set(core.total);
    registry.gauge("client.host.cpu.user", labels).set(core.user);
    registry.gauge("client.host.cpu.system", labels).set(core.system);
    registry.gauge("client.host.cpu.idle", labels).set(core.idle);
    registry.gauge("client.host.cpu.total_ticks", labels)
        .set(busy > 0 ? usage.cpu_ticks_consumed * core.total / busy : 0);
  }
  for (const auto& disk : usage.disks) {
    auto labels = node;
    labels.emplace_back("disk", disk.device);
    registry.gauge("client.host.disk.size", labels).set(static_cast<double>(disk.size));
    registry.gauge("client.host.disk.used", labels).set(static_cast<double>(disk.used));
    registry.gauge("client.host.disk.available", labels).set(static_cast<double>(disk.available));
    registry.gauge("client.host.disk.used_percent", labels).set(disk.used_percent);
    registry.gauge("client.host.disk.inodes_percent", labels).set(disk.inodes_used_percent);
  }
}

void render(Call& call, bool as_prometheus) {
  auto& registry = *call.context->options.metrics;
  if (!as_prometheus) {
    call.send(Answer::json(registry.json(unix_now())));
    return;
  }
  call.send({.content_type = "text/plain; version=0.0.4; charset=utf-8",
             .body = registry.prometheus(unix_now())});
}

void ask_counts(const SharedCall& call, bool as_prometheus) {
  call->context->asker.ask<AllocCounts>(
      call->context->options.client, client::client_api::CountAllocs{}, client_timeout,
      [call, as_prometheus](Result<AllocCounts> counts) {
        if (counts) {
          auto& registry = *call->context->options.metrics;
          const auto node = node_labels(*call->context);
          set_allocated(registry, *call->context, node);
          for (const auto* never : {"client.allocations.blocked", "client.allocations.migrating"})
            registry.gauge(never, node).set(0);
          registry.gauge("client.allocations.pending", node)
              .set(static_cast<double>(counts->pending));
          registry.gauge("client.allocations.running", node)
              .set(static_cast<double>(counts->running));
          registry.gauge("client.allocations.terminal", node)
              .set(static_cast<double>(counts->terminal));
        }
        render(*call, as_prometheus);
      });
}

void metrics(Call call) {
  const bool as_prometheus = call.request().parameter_or_empty("format") == "prometheus";
  if (as_prometheus && !call.context->options.prometheus)
    return call.fail(415, "Prometheus is not enabled");
  if (!call.context->options.metrics)
    return call.fail({Errc::internal, "this agent keeps no metrics"});
  const auto shared = share(std::move(call));
  if (!shared->context->options.client) {
    render(*shared, as_prometheus);
    return;
  }
  shared->context->asker.ask<HostUsage>(
      shared->context->options.client, client::client_api::HostStats{}, client_timeout,
      [shared, as_prometheus](Result<HostUsage> usage) {
        if (usage)
          set_host_gauges(*shared->context->options.metrics, node_labels(*shared->context), *usage);
        ask_counts(shared, as_prometheus);
      });
}

}  // namespace

void add_metrics_routes(Routes& routes) {
  routes.exact("/v1/metrics", {{Methods::get, Capability::none, metrics, Where::agent}});
}

}  // namespace nomad::api
