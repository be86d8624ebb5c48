// node status: the list of nodes, or one with what it has, runs and uses.
#include <algorithm>
#include <iostream>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "cli/api_command.hpp"
#include "cli/lookup.hpp"
#include "cli/node/host_stats.hpp"
#include "cli/output/api_shape.hpp"
#include "cli/output/layout.hpp"
#include "cli/output/output.hpp"
#include "cli/run.hpp"
#include "runtime/base/duration.hpp"
#include "runtime/base/text.hpp"

namespace nomad::cli {
namespace {

struct NodeStatusFlags : ApiCommand {
  using ApiCommand::ApiCommand;

  OutputFlags output{*this};
  const bool& allocs = flag("allocs", "Lists how many allocations run on each node.");
  const bool& os = flag("os", "Lists the operating system of each node.");
  const bool& quiet = flag("quiet", "Lists ids only.");
  const std::string& filter = option("filter", "Only those for which the expression holds.");
  const std::string& per_page = option("per-page", "How many at a time.");
  const std::string& page_token = option("page-token", "Where to go on.");
  const bool& self = flag("self", "Shows the agent's own node.");
  const bool& brief = flag("short", "Shows the basics only.");
  const bool& stats = flag("stats", "Shows detailed use of resources.");
  const bool& verbose = flag("verbose", "Shows whole ids, attributes and details.");
};

Result<int> list_nodes(Api& api, const NodeStatusFlags& flags) {
  Query query;
  for (const auto& [name, value] : {std::pair{"filter", flags.filter},
                                    {"per_page", flags.per_page},
                                    {"next_token", flags.page_token}})
    if (!value.empty()) query.emplace_back(name, value);
  if (flags.os) query.emplace_back("os", "true");
  const auto nodes = NOMAD_TRY(api.get("/v1/nodes", query).within("Error querying node status"));
  if (auto code = flags.output.print(as_printed(ApiShape::node_stub, nodes.body))) return *code;
  const auto items = nodes.view().items();
  if (items.empty()) {
    std::cout << "No nodes registered\n";
  } else if (flags.quiet) {
    for (const auto& node : items)
      std::cout << node["ID"].text() << '\n';
  } else {
    std::cout << node_table(nodes.view(), flags.verbose, flags.os, flags.allocs, &api) << '\n';
  }
  flags.hint_next_page(nodes.next_token);
  return 0;
}

std::string shown_drain(const View& node) {
  const auto drain = node["DrainStrategy"];
  if (drain.is_null()) return "false";
  std::string text = "true; ";
  if (drain["Deadline"].number() < 0)
    text += "force drain";
  else if (drain["ForceDeadline"].is_null())
    text += "no deadline";
  else
    text += clock_time(drain["ForceDeadline"]) + " deadline";
  return drain["IgnoreSystemJobs"].truth() ? text + "; ignoring system jobs" : text;
}

std::string names_of(const View& map) {
  std::vector<std::string> names;
  for (const auto& [name, value] : map.members())
    names.push_back(name);
  return join(names, ",");
}

std::string drivers_of(const View& node) {
  std::vector<std::string> drivers;
  for (const auto& [name, info] : node["Drivers"].members()) {
    if (!info["Detected"].truth()) continue;
    drivers.push_back(info["Healthy"].truth() ? name : name + " (unhealthy)");
  }
  return join(drivers, ",");
}

void print_basics(const View& node, const View& stats, bool verbose, bool brief) {
  Pairs block{{"ID", node["ID"].text()},
              {"Name", node["Name"].text()},
              {"Node Pool", node["NodePool"].text()},
              {"Class", node["NodeClass"].text()},
              {"DC", node["Datacenter"].text()},
              {"Drain", shown_drain(node)},
              {"Eligibility", node["SchedulingEligibility"].text()},
              {"Status", node["Status"].text()},
              {"CSI Controllers", names_of(node["CSIControllerPlugins"])},
              {"CSI Drivers", names_of(node["CSINodePlugins"])}};
  if (!stats.is_null())
    block.emplace_back("Uptime", format_duration(std::chrono::seconds{stats["Uptime"].number()}));
  if (!verbose) {
    block.emplace_back("Host Volumes", names_of(node["HostVolumes"]));
    block.emplace_back("Host Networks", names_of(node["HostNetworks"]));
    block.emplace_back("CSI Volumes", "");
    block.emplace_back(brief ? "Drivers" : "Driver Status", drivers_of(node));
  }
  std::cout << pairs(block) << '\n';
}

void print_host_networks(const View& node) {
  Rows rows{{"Name", "CIDR", "Interface", "ReservedPorts"}};
  for (const auto& [name, network] : node["HostNetworks"].members())
    rows.push_back({name, network["CIDR"].text(), network["Interface"].text(),
                    network["ReservedPorts"].text()});
  if (rows.size() > 1) print_section("Host Networks", table(rows));
}

void print_host_volumes(const View& node) {
  Rows rows{{"Name", "ReadOnly", "Source"}};
  for (const auto& [name, volume] : node["HostVolumes"].members())
    rows.push_back({name, volume["ReadOnly"].truth() ? "true" : "false", volume["Path"].text()});
  if (rows.size() > 1) print_section("Host Volumes", table(rows));
}

void print_drivers(const View& node) {
  Rows rows{{"Driver", "Detected", "Healthy", "Message", "Time"}};
  for (const auto& [name, info] : node["Drivers"].members())
    rows.push_back({name, info["Detected"].text(), info["Healthy"].text(),
                    info["HealthDescription"].text(), clock_time(info["UpdateTime"])});
  print_section("Drivers", table(rows));
}

void print_events(const View& node, bool verbose) {
  auto events = node["Events"].items();
  std::reverse(events.begin(), events.end());
  Rows rows{{"Time", "Subsystem", "Message"}};
  if (verbose) rows[0].emplace_back("Details");
  for (const auto& event : events) {
    const auto driver = event["Details"]["driver"].text();
    Row row{clock_time(event["Timestamp"]),
            driver.empty() ? event["Subsystem"].text() : "Driver: " + driver,
            event["Message"].text()};
    if (verbose) {
      std::vector<std::string> details;
      for (const auto& [key, value] : event["Details"].members())
        details.push_back(key + ": " + value.text());
      row.push_back(join(details, ", "));
    }
    rows.push_back(std::move(row));
  }
  print_section("Node Events", table(rows));
}

std::uint64_t mebibytes(std::int64_t amount) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(amount, 0)) << 20;
}

/// What the node offers: MHz, bytes of memory, bytes of disk.
struct Capacity {
  std::int64_t cpu;
  std::uint64_t memory;
  std::uint64_t disk;
};

Capacity capacity_of(const View& node) {
  const auto has = node["NodeResources"];
  const auto kept = node["ReservedResources"];
  return {has["Cpu"]["CpuShares"].number() - kept["Cpu"]["CpuShares"].number(),
          mebibytes(has["Memory"]["MemoryMB"].number() - kept["Memory"]["MemoryMB"].number()),
          mebibytes(has["Disk"]["DiskMB"].number() - kept["Disk"]["DiskMB"].number())};
}

void print_allocated(const Capacity& capacity, const View& allocs) {
  std::int64_t cpu = 0, memory = 0, disk = 0;
  for (const auto& alloc : allocs.items()) {
    if (alloc["ClientStatus"].text() != "running" && alloc["ClientStatus"].text() != "pending")
      continue;
    for (const auto& [name, task] : alloc["AllocatedResources"]["Tasks"].members()) {
      cpu += task["Cpu"]["CpuShares"].number();
      memory += task["Memory"]["MemoryMB"].number();
    }
    disk += alloc["AllocatedResources"]["Shared"]["DiskMB"].number();
  }
  print_section("Allocated Resources",
                table({{"CPU", "Memory", "Disk"},
                       {fmt::format("{}/{} MHz", cpu, capacity.cpu),
                        fmt::format("{}/{}", bytes(mebibytes(memory)), bytes(capacity.memory)),
                        fmt::format("{}/{}", bytes(mebibytes(disk)), bytes(capacity.disk))}}));
}

void print_utilization(Api& api, const Capacity& capacity, const View& allocs, const View& host) {
  double cpu = 0;
  std::uint64_t memory = 0;
  for (const auto& alloc : allocs.items()) {
    if (alloc["ClientStatus"].text() != "running") continue;
    auto usage = api.get("/v1/client/allocation/" + alloc["ID"].text() + "/stats");
    if (!usage) continue;  // it has ended meanwhile
    const auto used = usage->view()["ResourceUsage"];
    cpu += used["CpuStats"]["TotalTicks"].real();
    memory += static_cast<std::uint64_t>(used["MemoryStats"]["RSS"].number());
  }
  print_section("Allocation Resource Utilization",
                table({{"CPU", "Memory"},
                       {fmt::format("{:.0f}/{} MHz", cpu, capacity.cpu),
                        fmt::format("{}/{}", bytes(memory), bytes(capacity.memory))}}));
  const auto disk = host["AllocDirStats"];
  print_section(
      "Host Resource Utilization",
      table(
          {{"CPU", "Memory", "Disk"},
           {fmt::format("{:.0f}/{} MHz", host["CPUTicksConsumed"].real(), capacity.cpu),
            fmt::format("{}/{}", bytes(static_cast<std::uint64_t>(host["Memory"]["Used"].number())),
                        bytes(static_cast<std::uint64_t>(host["Memory"]["Total"].number()))),
            fmt::format("{}/{}", bytes(static_cast<std::uint64_t>(disk["Used"].number())),
                        bytes(static_cast<std::uint64_t>(disk["Size"].number())))}}));
}

std::string key_values(const View& map) {
  Pairs rows;
  for (const auto& [key, value] : map.members())
    rows.emplace_back(key, value.text());
  return pairs(rows);
}

Result<int> show_node(Api& api, const NodeStatusFlags& flags, const Answer& answer) {
  const auto node = answer.view();
  const auto id = node["ID"].text();
  auto host = api.get("/v1/client/stats", {{"node_id", id}});
  const View stats = host ? host->view() : View{};
  if (flags.brief) {
    print_basics(node, View{}, false, true);
  } else {
    print_basics(node, stats, flags.verbose, false);
    if (flags.verbose) {
      print_host_networks(node);
      print_host_volumes(node);
      print_drivers(node);
    }
    print_events(node, flags.verbose);
  }
  auto allocs = NOMAD_TRY(
      api.get("/v1/node/" + id + "/allocations").within("Error querying node allocations"));
  if (!flags.brief) {
    const auto capacity = capacity_of(node);
    print_allocated(capacity, allocs.view());
    if (host)
      print_utilization(api, capacity, allocs.view(), stats);
    else
      std::cout << "\nerror fetching node stats: " << host.error().what << '\n';
  }
  if (flags.stats && !flags.brief) print_host_stats(stats);
  print_section("Allocations", allocs.view().items().empty()
                                   ? "No allocations placed"
                                   : alloc_table(allocs.view(), flags.verbose, false));
  if (flags.verbose) {
    print_section("Attributes", key_values(node["Attributes"]));
    print_section("Meta", key_values(node["Meta"]));
  }
  return 0;
}

}  // namespace

Result<int> run_node_status(const std::vector<std::string>& arguments) {
  NodeStatusFlags command{"node status [options] [node]", "Lists the nodes, or shows one."};
  const WordCount words{0, 1, "This command takes either one or no arguments"};
  if (auto code = command.start(arguments, words)) return *code;
  auto& api = *command.api;
  if (command.positional().empty() && !command.self) return list_nodes(api, command);
  const auto id = NOMAD_TRY(command.self ? own_node(api) : command.positional()[0]);
  auto kind = node_kind;
  kind.or_id = "";
  auto node = NOMAD_TRY(find_by_prefix(api, kind, id, command.verbose));
  if (auto code = command.output.print(as_printed(ApiShape::node, node.body))) return *code;
  return show_node(api, command, node);
}

Result<int> run_node_eligibility(const std::vector<std::string>& arguments) {
  ApiCommand command{"node eligibility [options] <node>", "Allows placements on a node, or not."};
  auto& enable = command.flag("enable", "Allows new placements.");
  auto& disable = command.flag("disable", "Allows no new placements; what runs goes on.");
  auto& self = command.flag("self", "The agent's own node.");
  if (auto code = command.parse(arguments)) return *code;
  if (enable == disable)
    return command.misuse("Either the '-enable' or '-disable' flag must be set");
  if (command.positional().size() != (self ? 0 : 1))
    return command.misuse("Node ID must be specified if -self isn't being used");
  auto& api = *NOMAD_TRY(command.connect());
  const auto prefix = NOMAD_TRY(self ? own_node(api) : command.positional()[0]);
  auto kind = node_kind;
  kind.error = "Error updating scheduling eligibility";
  auto node = NOMAD_TRY(find_by_prefix(api, kind, prefix, true));
  const auto id = node.view()["ID"].text();
  NOMAD_TRY(api.put("/v1/node/" + id + "/eligibility",
                    boost::json::object{{"NodeID", id},
                                        {"Eligibility", enable ? "eligible" : "ineligible"}})
                .within(kind.error));
  std::cout << fmt::format("Node \"{}\" scheduling eligibility set: {} for scheduling\n", id,
                           enable ? "eligible" : "ineligible");
  return 0;
}

}  // namespace nomad::cli
