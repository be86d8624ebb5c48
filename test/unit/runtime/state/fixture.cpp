#include "fixture.hpp"

#include <fmt/format.h>

#include "runtime/state/kinds/derive.hpp"
#include "runtime/state/restore.hpp"

namespace nomad::state {

namespace {

std::string printable(std::string_view key) {
  std::string shown;
  for (const char c : key)
    shown += c >= ' ' && c <= '~' ? std::string(1, c) : fmt::format("<{:x}>", int{c} & 0xff);
  return shown;
}

template <class Map, class Show>
void add(std::vector<std::string>& lines, std::string_view name, const Map& map, Show show) {
  std::size_t count = 0;
  for (const auto& entry : map.all()) {
    lines.push_back(fmt::format("{} {} = {}", name, printable(entry.key()), show(entry.value())));
    ++count;
  }
  lines.push_back(fmt::format("{} has {} entries, {} counted", name, map.size(), count));
}

std::string show_usage(const Shared<NodeUsage>& usage) {
  std::size_t ports = 0;
  for (unsigned port = 0; port < 65536; ++port)
    ports += usage->port_taken("", static_cast<std::uint16_t>(port)) ? port : 0;
  const Demand& total = usage->total();
  return fmt::format("{} allocations {} {} {} {} ports {} {}", usage->allocations(), total.cpu_mhz,
                     total.memory_mb, total.memory_max_mb, total.disk_mb, ports,
                     usage->ports("") != nullptr ? usage->ports("")->size() : 0);
}

}  // namespace

std::vector<std::string> describe(const Snapshot& snapshot) {
  const Tables& t = snapshot.tables();
  std::vector<std::string> lines;
  for (std::uint32_t number = 0; number < stored_tables; ++number) {
    const auto table = static_cast<Table>(number);
    lines.push_back(fmt::format("{} changed at {}", to_string(table), snapshot.index(table)));
    const auto added
        = snapshot.for_each_row(table, [&](std::string_view key, auto bytes) -> Result<> {
            std::string hex;
            for (const std::byte part : bytes)
              hex += fmt::format("{:02x}", std::to_integer<int>(part));
            lines.push_back(fmt::format("{} {} = {}", to_string(table), printable(key), hex));
            return {};
          });
    REQUIRE(added.has_value());
  }
  const auto id = [](const auto& object) { return std::string{view(object->getId())}; };
  const auto nothing = [](const Nothing&) { return std::string{}; };
  const auto row = [](const AllocRef& ref) {
    return fmt::format("{} job v{} metric {} demand {} {} {}", ref->alloc->id(),
                       ref->job->getVersion(), ref->metric ? 1 : 0, ref->demand.cpu_mhz,
                       ref->client_terminal, ref->server_terminal);
  };
  add(lines, "allocs", t.allocs, row);
  add(lines, "allocs_by_create", t.allocs_by_create, nothing);
  add(lines, "allocs_by_node", t.allocs_by_node, nothing);
  add(lines, "allocs_by_job", t.allocs_by_job, row);
  add(lines, "allocs_by_eval", t.allocs_by_eval, nothing);
  add(lines, "allocs_by_deployment", t.allocs_by_deployment, nothing);
  each_kind([&]<class Kind>() {
    std::size_t number = 0;
    each_index<Kind>([&](const auto& index) {
      const auto name = fmt::format("{} in order {}", Kind::name, ++number);
      add(lines, name, t.*index.map, []<class Row>(const Row& one) -> std::string {
        if constexpr (requires { Kind::key(*one); })
          return Kind::key(*one);
        else
          return "";
      });
    });
  });
  add(lines, "scaling_policies", t.scaling_policies, id);
  add(lines, "scaling_policies_by_job", t.scaling_policies_by_job, id);
  add(lines, "usage", t.usage, show_usage);
  add(lines, "job_counts", t.job_counts, [](const JobCounts& counts) {
    return fmt::format("{} {} {} {}", counts.allocs, counts.live_allocs, counts.evals,
                       counts.live_evals);
  });
  const auto number = [](std::uint64_t count) { return fmt::format("{}", count); };
  add(lines, "version_uses", t.version_uses, number);
  add(lines, "identity_uses", t.identity_uses, number);
  add(lines, "alloc_counts_of_nodes", t.alloc_counts_of_nodes, number);
  add(lines, "variable_bytes", t.variable_bytes, number);
  add(lines, "quota_of_namespaces", t.quota_of_namespaces,
      [](const std::string& quota) { return quota; });
  add(lines, "quota_use", t.quota_use, [](const Shared<QuotaUse>& use) {
    return fmt::format("{} allocations {} {} {} {} {}", use->allocations, use->demand.cpu_mhz,
                       use->demand.memory_mb, use->demand.memory_max_mb, use->cores,
                       use->devices.size());
  });
  add(lines, "csi_plugin_nodes", t.csi_plugin_nodes, nothing);
  add(lines, "csi_plugin_jobs", t.csi_plugin_jobs, nothing);
  add(lines, "acl_sealed_by_key", t.acl_sealed_by_key, number);
  return lines;
}

Result<> restore_into(Store& store, const Snapshot& snapshot) {
  Restore restore;
  for (std::uint32_t number = 0; number < stored_tables; ++number) {
    const auto table = static_cast<Table>(number);
    NOMAD_TRY(snapshot.for_each_row(
        table, [&](std::string_view key, auto bytes) { return restore.row(table, key, bytes); }));
  }
  NOMAD_TRY(restore.index_row(snapshot.index_row()));
  NOMAD_TRY(restore.offset_row(snapshot.offset_row()));
  auto tables = NOMAD_TRY(restore.take());
  store.replace(std::move(tables), snapshot.index() - snapshot.tables().index_offset);
  return {};
}

}  // namespace nomad::state
