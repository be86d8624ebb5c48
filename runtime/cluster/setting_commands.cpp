#include "runtime/cluster/setting_commands.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "runtime/cluster/content_hash.hpp"
#include "runtime/cluster/kind_commands.hpp"
#include "runtime/jobspec/validate/namespace_rules.hpp"

namespace nomad::cluster {

namespace kind = state::kind;

Result<Decision> decide_scheduler_configuration(
    const state::Snapshot& snapshot,
    const access::Asking& asking,
    const Object<schema::SchedulerConfiguration>& configuration,
    std::optional<std::uint64_t> check_index) {
  const auto allowed = NOMAD_TRY(access::authorize(asking, {}));
  if (check_index && snapshot.scheduler_configuration()->getModifyIndex() != *check_index)
    return Decision{allowed};
  Draft<schema::SchedulerConfiguration> draft{configuration};
  if (configuration->getSchedulerAlgorithm().size() == 0) draft->setSchedulerAlgorithm("binpack");
  return Decision{allowed, put_command<kind::SchedulerConfig>(draft.reader())};
}

Result<Decision> decide_autopilot(const access::Asking& asking,
                                  const Object<schema::AutopilotConfiguration>& configuration,
                                  std::optional<std::uint64_t> check_index) {
  const auto allowed = NOMAD_TRY(access::authorize(asking, {}));
  if (const auto mistakes = kind::AutopilotConfig::mistakes(*configuration); !mistakes.empty())
    return Error{Errc::invalid_argument, jobspec::join_errors(mistakes)};
  Draft<schema::AutopilotUpdate> update;
  update->setConfiguration(*configuration);
  update->setCheck(check_index.has_value());
  if (check_index) update->getConfiguration().setModifyIndex(*check_index);
  return Decision{allowed, put_command<kind::AutopilotConfig>(update.reader())};
}

namespace {

constexpr std::size_t longest_description = 256;

/// Between 1 and 128 letters, digits and what of `more` is allowed besides.
bool is_plain_name(std::string_view name, std::string_view more) {
  const auto fits = [more](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')
           || more.find(c) != std::string_view::npos;
  };
  return !name.empty() && name.size() <= 128 && std::all_of(name.begin(), name.end(), fits);
}

std::vector<std::string> namespace_mistakes(schema::Namespace::Reader ns) {
  std::vector<std::string> mistakes;
  if (!is_plain_name(view(ns.getName()), "-"))
    mistakes.push_back(fmt::format("invalid name \"{}\". Must match regex ^[a-zA-Z0-9-]{{1,128}}$",
                                   view(ns.getName())));
  if (ns.getDescription().size() > longest_description)
    mistakes.push_back(fmt::format("description longer than {}", longest_description));
  for (const auto& mistake : jobspec::node_pool_mistakes(ns.getNodePoolConfiguration()))
    mistakes.push_back("invalid node pool configuration: " + mistake);
  return mistakes;
}

std::vector<std::string> pool_mistakes(schema::NodePool::Reader pool) {
  std::vector<std::string> mistakes;
  if (!is_plain_name(view(pool.getName()), "-_"))
    mistakes.push_back(fmt::format("invalid name \"{}\", must match regex ^[a-zA-Z0-9-_]{{1,128}}$",
                                   view(pool.getName())));
  if (pool.getDescription().size() > longest_description)
    mistakes.push_back(fmt::format("description longer than {}", longest_description));
  const auto algorithm = view(pool.getSchedulerConfiguration().getSchedulerAlgorithm());
  if (!algorithm.empty() && algorithm != "binpack" && algorithm != "spread")
    mistakes.push_back(
        fmt::format("invalid scheduler algorithm \"{}\": neither \"binpack\" nor "
                    "\"spread\"",
                    algorithm));
  return mistakes;
}

constexpr unsigned most_limits = 64;
constexpr unsigned most_devices = 64;

void find_limit_mistakes(schema::QuotaLimit::Reader limit, std::vector<std::string>& mistakes) {
  const auto region = view(limit.getRegion());
  std::set<std::string_view> names;
  const auto devices = limit.getRegionLimit().getDevices();
  if (devices.size() > most_devices)
    mistakes.push_back(
        fmt::format("region \"{}\" limits more than {} devices", region, most_devices));
  for (const auto device : devices) {
    const auto name = view(device.getName());
    if (name.empty())
      mistakes.push_back(fmt::format("region \"{}\" limits a device without a name", region));
    else if (!names.insert(name).second)
      mistakes.push_back(fmt::format("region \"{}\" limits device \"{}\" twice", region, name));
  }
}

std::vector<std::string> quota_mistakes(schema::QuotaSpec::Reader quota) {
  std::vector<std::string> mistakes;
  if (!is_plain_name(view(quota.getName()), "-"))
    mistakes.push_back(fmt::format("invalid name \"{}\". Must match regex ^[a-zA-Z0-9-]{{1,128}}$",
                                   view(quota.getName())));
  if (quota.getDescription().size() > longest_description)
    mistakes.push_back(fmt::format("description longer than {}", longest_description));
  if (quota.getLimits().size() == 0) mistakes.push_back("must provide at least one quota limit");
  if (quota.getLimits().size() > most_limits)
    mistakes.push_back(fmt::format("more than {} limits", most_limits));
  std::set<std::string_view> regions;
  for (const auto limit : quota.getLimits()) {
    const auto region = view(limit.getRegion());
    if (region.empty()) mistakes.push_back("a limit names no region");
    if (!region.empty() && !regions.insert(region).second)
      mistakes.push_back(fmt::format("region \"{}\" has two limits", region));
    find_limit_mistakes(limit, mistakes);
  }
  return mistakes;
}

void add_limit(ContentHash& hash, schema::QuotaLimit::Reader limit) {
  const auto add = [&hash](std::int64_t amount) {
    const auto part = std::to_string(amount) + ',';
    hash.add(std::string_view{part});
  };
  const auto resources = limit.getRegionLimit();
  hash.add(limit.getRegion());
  add(resources.getCpu());
  add(resources.getCores());
  add(resources.getMemoryMb());
  add(resources.getMemoryMaxMb());
  add(resources.getAllocations());
  add(limit.getVariablesLimit());
  for (const auto device : resources.getDevices()) {
    hash.add(device.getName());
    add(device.getCount());
  }
}

bool is_live(const Object<schema::Job>& job) {
  return view(job->getStatus()) != "dead";
}

}  // namespace

Result<Decision> decide_quota(const state::Snapshot&,
                              const access::Asking& asking,
                              schema::QuotaSpec::Reader quota) {
  const auto allowed = NOMAD_TRY(access::authorize(asking, {}));
  if (const auto mistakes = quota_mistakes(quota); !mistakes.empty())
    return Error{Errc::invalid_argument,
                 fmt::format("invalid quota \"{}\": {}", view(quota.getName()),
                             jobspec::join_errors(mistakes))};
  Draft<schema::QuotaSpec> draft{quota};
  ContentHash whole;
  whole.add(quota.getName());
  whole.add(quota.getDescription());
  for (auto limit : draft->getLimits()) {
    ContentHash hash;
    add_limit(hash, limit.asReader());
    limit.setHash(hash.finish());
    add_limit(whole, limit.asReader());
  }
  draft->setHash(whole.finish());
  return Decision{allowed, put_command<kind::Quotas>(draft.reader())};
}

Result<Decision> decide_namespace(const state::Snapshot& snapshot,
                                  const access::Asking& asking,
                                  schema::Namespace::Reader ns) {
  const auto allowed = NOMAD_TRY(access::authorize(asking, {}));
  if (const auto mistakes = namespace_mistakes(ns); !mistakes.empty())
    return Error{Errc::rejected, fmt::format("Invalid namespace \"{}\": {}", view(ns.getName()),
                                             jobspec::join_errors(mistakes))};
  // The log judges it once more.
  if (auto error = kind::Namespaces::may_put(snapshot.unguarded().tables(), {}, ns))
    return *std::move(error);
  ContentHash hash;
  hash.add(ns.getName());
  hash.add(ns.getDescription());
  hash.add(ns.getQuota());
  hash.add_each(ns.getCapabilities().getEnabledTaskDrivers());
  hash.add_each(ns.getCapabilities().getDisabledTaskDrivers());
  hash.add(ns.getNodePoolConfiguration().getDefault());
  hash.add_each(ns.getNodePoolConfiguration().getAllowed());
  hash.add_each(ns.getNodePoolConfiguration().getDenied());
  hash.add_entries(ns.getMeta());
  Draft<schema::Namespace> draft{ns};
  draft->setHash(hash.finish());
  return Decision{allowed, put_command<kind::Namespaces>(draft.reader())};
}

Result<Decision> decide_namespace_delete(const state::Snapshot& snapshot,
                                         const access::Asking& asking,
                                         std::string_view name,
                                         std::string_view region) {
  const auto allowed = NOMAD_TRY(access::authorize(asking, {}));
  if (name == "default") return Error{Errc::rejected, "can not delete default namespace"};
  // The log judges it once more (kind::Namespaces::may_remove).
  for (const auto& entry : snapshot.unguarded().jobs(name))
    if (is_live(entry.value()))
      return Error{Errc::rejected,
                   jobspec::join_errors({fmt::format(
                       "namespace \"{}\" has non-terminal jobs in regions: [{}]", name, region)})};
  return Decision{allowed, remove_command<kind::Namespaces>(name)};
}

Result<Decision> decide_node_pool(const state::Snapshot&,
                                  const access::Asking& asking,
                                  schema::NodePool::Reader pool) {
  const auto name = view(pool.getName());
  const auto allowed = NOMAD_TRY(access::authorize(asking, {.node_pool = name}));
  if (const auto mistakes = pool_mistakes(pool); !mistakes.empty())
    return Error{Errc::invalid_argument,
                 fmt::format("invalid node pool \"{}\": {}", name, jobspec::join_errors(mistakes))};
  if (name == "default" || name == "all")
    return Error{Errc::invalid_argument,
                 fmt::format("modifying node pool \"{}\" is not allowed", name)};
  ContentHash hash;
  hash.add(pool.getName());
  hash.add(pool.getDescription());
  const auto configuration = pool.getSchedulerConfiguration();
  hash.add(configuration.getSchedulerAlgorithm());
  if (const auto over = configuration.getMemoryOversubscriptionEnabled(); over.isValue())
    hash.add(std::string_view{over.getValue() ? "memory_oversubscription_enabled"
                                              : "memory_oversubscription_disabled"});
  hash.add_entries(pool.getMeta());
  Draft<schema::NodePool> draft{pool};
  draft->setHash(hash.finish());
  return Decision{allowed, put_command<kind::NodePools>(draft.reader())};
}

Result<Decision> decide_node_pool_delete(const state::Snapshot& snapshot,
                                         const access::Asking& asking,
                                         std::string_view name,
                                         std::string_view region) {
  const auto allowed = NOMAD_TRY(access::authorize(asking, {.node_pool = name}));
  if (name.empty()) return Error{Errc::invalid_argument, "node pool name is empty"};
  const auto state = snapshot.unguarded();  // The log judges it once more (kind::NodePools).
  std::vector<std::string> needed;
  for (const auto& entry : state.jobs()) {
    if (view(entry.value()->getNodePool()) != name || !is_live(entry.value())) continue;
    needed.push_back(
        fmt::format("node pool \"{}\" has non-terminal jobs in regions: [{}]", name, region));
    break;
  }
  for (const auto& entry : state.nodes()) {
    if (view(entry.value()->getNodePool()) != name) continue;
    needed.push_back(fmt::format("node pool \"{}\" has nodes in regions: [{}]", name, region));
    break;
  }
  if (!needed.empty()) return Error{Errc::rejected, jobspec::join_errors(needed)};
  return Decision{allowed, remove_command<kind::NodePools>(name)};
}

}  // namespace nomad::cluster
