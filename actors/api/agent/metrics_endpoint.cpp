// /v1/metrics, in Nomad's own form and Prometheus'. What the client node uses is asked for when
// somebody looks, not measured all the time.
#include <optional>

#include "actors/api/http/call.hpp"
#include "actors/api/http/routes.hpp"
#include "runtime/object/draft.hpp"

namespace nomad::api {
namespace {

using client::client_api::AllocCounts;
using client::client_api::HostUsage;
using telemetry::Gauges;
using telemetry::Labels;

constexpr std::chrono::seconds client_timeout{2};

/// As the servers know the node, if this agent has a server; else by what the agent itself knows.
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
void set_allocated(Gauges& gauges, const Context& context, const Labels& labels) {
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
}

void set_host_gauges(Gauges& gauges, const Labels& node, const HostUsage& usage) {
  const auto set = [&](std::string_view name, double value) { gauges.set(name, value, node); };
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
    gauges.set("client.host.cpu.total_percent", core.total, labels);
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

/// What the client says of itself for one answer.
struct ClientFigures {
  std::optional<HostUsage> usage;
  std::optional<AllocCounts> counts;
};

/// Takes long: a gauge for each state of each of many jobs' groups.
Answer render(const Context& context, bool as_prometheus, const ClientFigures& client) {
  const auto collect = [&](Gauges& gauges) {
    const auto node = node_labels(context);
    if (client.usage) set_host_gauges(gauges, node, *client.usage);
    if (!client.counts) return;
    set_allocated(gauges, context, node);
    set_counts(gauges, node, *client.counts);
  };
  auto& registry = *context.options.metrics;
  if (!as_prometheus) return Answer::json(registry.json(unix_now(), collect));
  return {.content_type = "text/plain; version=0.0.4; charset=utf-8",
          .body = registry.prometheus(unix_now(), collect)};
}

void render_on_pool(const SharedCall& call, bool as_prometheus, const ClientFigures& client) {
  run_on(call->context->pool, call, [as_prometheus, client](const Call& shared) -> Outcome {
    return render(*shared.context, as_prometheus, client);
  });
}

void ask_counts(const SharedCall& call, bool as_prometheus, ClientFigures client) {
  call->context->asker.ask<AllocCounts>(
      call->context->options.client, client::client_api::CountAllocs{}, client_timeout,
      [call, as_prometheus, client = std::move(client)](Result<AllocCounts> counts) mutable {
        if (counts) client.counts = *counts;
        render_on_pool(call, as_prometheus, client);
      });
}

Outcome metrics(Call& call) {
  const bool as_prometheus = call.request().parameter_or_empty("format") == "prometheus";
  if (as_prometheus && !call.context->options.prometheus)
    return Answer::text(415, "Prometheus is not enabled");
  if (!call.context->options.metrics) return Error{Errc::internal, "this agent keeps no metrics"};
  const auto shared = share(std::move(call));
  if (!shared->context->options.client) {
    render_on_pool(shared, as_prometheus, {});
    return later;
  }
  shared->context->asker.ask<HostUsage>(shared->context->options.client,
                                        client::client_api::HostStats{}, client_timeout,
                                        [shared, as_prometheus](Result<HostUsage> usage) {
                                          ClientFigures client;
                                          if (usage) client.usage = std::move(*usage);
                                          ask_counts(shared, as_prometheus, std::move(client));
                                        });
  return later;
}

}  // namespace

void add_metrics_routes(Routes& routes) {
  routes.exact("/v1/metrics", {{Methods::get, Capability::none, metrics, Where::agent}});
}

}  // namespace nomad::api
