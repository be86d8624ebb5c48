#include "actors/agent/api_setup.hpp"

#include <utility>

namespace nomad::agent {
namespace {

api::AuditSink sink_of(const config::AuditSink& from, const std::string& data_dir) {
  api::AuditSink sink;
  sink.file = {.path = from.path.empty() ? data_dir + "/audit/audit.log" : from.path,
               .mode = static_cast<mode_t>(std::stoul(from.mode, nullptr, 8)),
               .rotation = {.bytes = from.rotate_bytes,
                            .age = from.rotate_duration,
                            .max_files = from.rotate_max_files}};
  sink.is_enforced = from.delivery_guarantee == "enforced";
  return sink;
}

}  // namespace

api::AuditOptions audit_options(const config::AgentConfig& config,
                                const std::string& http_address) {
  api::AuditOptions options;
  options.node_ip = http_address;
  for (const auto& [name, sink] : config.audit.sinks)
    options.sinks.push_back(sink_of(sink, config.data_dir));
  if (options.sinks.empty()) options.sinks.push_back(sink_of({}, config.data_dir));
  for (const auto& [name, filter] : config.audit.filters)
    options.filters.push_back({filter.endpoints, filter.stages, filter.operations});
  return options;
}

bool names_callers(const config::AgentConfig& config) {
  return config.acl.enabled && !config.telemetry.disable_rpc_rate_metrics_labels;
}

api::MeterOptions meter_options(const config::AgentConfig& config) {
  const auto& rate = config.limits.rpc_rate;
  return {.labels = names_callers(config),
          .reads = {.per_second = rate.read_rate, .burst = rate.read_burst},
          .writes = {.per_second = rate.write_rate, .burst = rate.write_burst},
          .refuses = rate.mode == "enforcing"};
}

api::SearchOptions search_options(const config::Search& from) {
  return {.fuzzy = from.fuzzy_enabled,
          .most_objects = static_cast<std::size_t>(from.limit_query),
          .most_matches = static_cast<std::size_t>(from.limit_results),
          .least_text = static_cast<std::size_t>(from.min_term_length)};
}

}  // namespace nomad::agent
