// alloc status: one allocation with its tasks, events and use of resources.
#include <algorithm>
#include <chrono>
#include <iostream>
#include <thread>

#include <fmt/format.h>

#include "cli/api_command.hpp"
#include "cli/lookup.hpp"
#include "cli/output/api_shape.hpp"
#include "cli/output/layout.hpp"
#include "cli/output/output.hpp"
#include "cli/run.hpp"
#include "runtime/base/duration.hpp"
#include "runtime/base/sorting/sort_stably.hpp"

namespace nomad::cli {
namespace {

struct AllocStatusFlags : ApiCommand {
  using ApiCommand::ApiCommand;

  OutputFlags output{*this};
  const bool& brief = flag("short", "Shows the tasks in a table only.");
  const bool& stats = flag("stats", "Shows detailed use of resources.");
  const bool& verbose = flag("verbose", "Shows whole ids and placement scores.");
};

View group_of(const View& alloc) {
  for (const auto& group : alloc["Job"]["TaskGroups"].items())
    if (group["Name"].text() == alloc["TaskGroup"].text()) return group;
  return {};
}

View task_of(const View& alloc, const std::string& name) {
  const auto group = group_of(alloc);
  for (const auto& task : group["Tasks"].items())
    if (task["Name"].text() == name) return task;
  return {};
}

std::string shown_instant(std::int64_t instant, bool verbose) {
  return verbose ? clock_time(instant) : age(instant);
}

void add_deployment(Pairs& block, const View& alloc, bool verbose) {
  if (alloc["DeploymentID"].text().empty()) return;
  block.emplace_back("Deployment ID", shown_id(alloc["DeploymentID"].text(), verbose));
  const auto status = alloc["DeploymentStatus"];
  const auto healthy = status["Healthy"];
  block.emplace_back("Deployment Health", healthy.is_null() ? "unset"
                                          : healthy.truth() ? "healthy"
                                                            : "unhealthy");
  if (status["Canary"].truth()) block.emplace_back("Canary", "true");
}

void add_rescheduling(Pairs& block, const View& alloc, bool verbose) {
  const auto events = alloc["RescheduleTracker"]["Events"].items();
  const auto policy = group_of(alloc)["ReschedulePolicy"];
  if (!events.empty() && policy["Attempts"].number() > 0 && !policy["Unlimited"].truth()) {
    const auto since = alloc["ModifyTime"].number() - policy["Interval"].number();
    const auto counted = std::count_if(events.begin(), events.end(), [&](const View& event) {
      return event["RescheduleTime"].number() > since;
    });
    block.emplace_back("Reschedule Attempts",
                       fmt::format("{}/{}", counted, policy["Attempts"].number()));
  }
  if (!alloc["NextAllocation"].text().empty())
    block.emplace_back("Replacement Alloc ID", shown_id(alloc["NextAllocation"].text(), verbose));
}

/// Whom the allocation has preempted, and who it.
void add_preemption(Pairs& block, const View& alloc, bool verbose) {
  if (const auto by = alloc["PreemptedByAllocation"].text(); !by.empty())
    block.emplace_back("Preempted By Alloc ID", shown_id(by, verbose));
  std::string ids;
  for (const auto& id : alloc["PreemptedAllocations"].items())
    ids.append(ids.empty() ? "" : ", ").append(shown_id(id.text(), verbose));
  if (!ids.empty()) block.emplace_back("Preempted Alloc IDs", ids);
}

void print_brief(const View& alloc) {
  std::cout << pairs({{"ID", alloc["ID"].text()},
                      {"Name", alloc["Name"].text()},
                      {"Created", age(alloc["CreateTime"].number())},
                      {"Modified", age(alloc["ModifyTime"].number())}})
            << '\n';
}

void print_basics(Api& api, const View& alloc, bool verbose) {
  Pairs block{{"ID", alloc["ID"].text()},
              {"Eval ID", shown_id(alloc["EvalID"].text(), verbose)},
              {"Name", alloc["Name"].text()},
              {"Node ID", shown_id(alloc["NodeID"].text(), verbose)},
              {"Node Name", alloc["NodeName"].text()},
              {"Job ID", alloc["JobID"].text()},
              {"Job Version", alloc["Job"]["Version"].text()},
              {"Client Status", alloc["ClientStatus"].text()},
              {"Client Description", alloc["ClientDescription"].text()},
              {"Desired Status", alloc["DesiredStatus"].text()},
              {"Desired Description", alloc["DesiredDescription"].text()},
              {"Created", shown_instant(alloc["CreateTime"].number(), verbose)},
              {"Modified", shown_instant(alloc["ModifyTime"].number(), verbose)}};
  add_deployment(block, alloc, verbose);
  add_rescheduling(block, alloc, verbose);
  add_preemption(block, alloc, verbose);
  if (const auto followup = alloc["FollowupEvalID"].text();
      !followup.empty() && alloc["NextAllocation"].text().empty()) {
    auto eval = api.get("/v1/evaluation/" + followup);
    auto instant = eval ? eval->view()["WaitUntil"].text() : "";
    if (!instant.empty())
      block.emplace_back("Reschedule Eligibility", clock_time(eval->view()["WaitUntil"]));
  }
  if (verbose) {
    const auto metrics = alloc["Metrics"];
    block.emplace_back("Evaluated Nodes", metrics["NodesEvaluated"].text());
    block.emplace_back("Filtered Nodes", metrics["NodesFiltered"].text());
    block.emplace_back("Exhausted Nodes", metrics["NodesExhausted"].text());
    block.emplace_back("Allocation Time", fmt::format("{}ns", metrics["AllocationTime"].number()));
    block.emplace_back("Failures", metrics["CoalescedFailures"].text());
  }
  std::cout << pairs(block) << '\n';
}

void print_addresses(const View& alloc) {
  const auto shared = alloc["AllocatedResources"]["Shared"];
  const auto ports = shared["Ports"].items();
  if (ports.empty()) return;
  const auto networks = shared["Networks"].items();
  std::string mode = networks.empty() ? "" : networks[0]["Mode"].text();
  std::vector<std::string> dynamic;
  for (const auto& network : networks)
    for (const auto& port : network["DynamicPorts"].items())
      dynamic.push_back(port["Label"].text());
  Rows rows{{"Label", "Dynamic", "Address"}};
  for (const auto& port : ports) {
    const auto label = port["Label"].text();
    const bool is_dynamic = std::find(dynamic.begin(), dynamic.end(), label) != dynamic.end();
    auto address = fmt::format("{}:{}", port["HostIP"].text(), port["Value"].number());
    if (port["To"].number() > 0) address += fmt::format(" -> {}", port["To"].number());
    rows.push_back({"*" + label, is_dynamic ? "yes" : "", address});
  }
  for (auto& row : rows)
    if (row[1].empty()) row[1] = "no";
  std::cout << '\n'
            << title(mode.empty() || mode == "host"
                         ? std::string{"Allocation Addresses:"}
                         : fmt::format("Allocation Addresses (mode = \"{}\"):", mode))
            << '\n'
            << table(rows) << '\n';
}

bool has_nomad_checks(const View& services) {
  const auto all = services.items();
  return std::any_of(all.begin(), all.end(), [](const View& service) {
    return service["Provider"].text() != "consul" && !service["Checks"].items().empty();
  });
}

/// Asks only for allocations whose job has checks.
void print_checks(Api& api, const View& alloc) {
  const auto group = group_of(alloc);
  const auto tasks = group["Tasks"].items();
  if (!has_nomad_checks(group["Services"])
      && std::none_of(tasks.begin(), tasks.end(),
                      [](const View& task) { return has_nomad_checks(task["Services"]); }))
    return;
  auto got = api.get("/v1/client/allocation/" + alloc["ID"].text() + "/checks");
  if (!got) {
    std::cout << '\n';
    fail("Couldn't retrieve checks", got.error());
    return;
  }
  Rows rows;
  for (const auto& [id, check] : got->view().members()) {
    const auto task = check["Task"].text();
    rows.push_back({check["Service"].text(), task.empty() ? "(group)" : task, check["Check"].text(),
                    check["Mode"].text(), check["Status"].text()});
  }
  if (rows.empty()) return;
  std::sort(rows.begin(), rows.end());
  rows.insert(rows.begin(), {"Service", "Task", "Name", "Mode", "Status"});
  std::cout << '\n' << title("Nomad Service Checks:") << '\n' << table(rows) << '\n';
}

/// Non-sidecar lifecycle tasks first, then sidecars, then the main ones; by name within each.
std::vector<std::string> tasks_in_order(const View& alloc) {
  const auto rank = [&](const std::string& name) {
    const auto lifecycle = task_of(alloc, name)["Lifecycle"];
    if (lifecycle["Hook"].text().empty()) return 2;
    return lifecycle["Sidecar"].truth() ? 1 : 0;
  };
  std::vector<std::string> names;
  for (const auto& [name, state] : alloc["TaskStates"].members())
    names.push_back(name);
  sort_stably(names, [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
  return names;
}

std::string lifecycle_note(const View& task) {
  const auto hook = task["Lifecycle"]["Hook"].text();
  if (hook.empty()) return "";
  return fmt::format(" ({}{})", hook, task["Lifecycle"]["Sidecar"].truth() ? " sidecar" : "");
}

/// By whose will a task with a schedule runs, or does not.
std::string schedule_note(const View& state) {
  const auto paused = state["Paused"].text();
  if (paused == "scheduled_pause") return ", paused by its schedule";
  if (paused == "force_pause") return ", paused by order";
  return paused == "force_run" ? ", its schedule is overridden" : "";
}

/// Of the task's own network, the old kind: "http: 192.168.0.7:21121".
std::vector<std::string> task_addresses(const View& asked) {
  std::vector<std::string> addresses;
  for (const auto& network : asked["Networks"].items())
    for (const auto* kind : {"DynamicPorts", "ReservedPorts"})
      for (const auto& port : network[kind].items())
        addresses.push_back(fmt::format("{}: {}:{}", port["Label"].text(), network["IP"].text(),
                                        port["Value"].number()));
  return addresses;
}

void print_resources(const View& alloc, const std::string& task, const View& usage) {
  const auto asked = alloc["AllocatedResources"]["Tasks"][task];
  auto cpu = fmt::format("{} MHz", asked["Cpu"]["CpuShares"].number());
  const auto memory_limit = static_cast<std::uint64_t>(asked["Memory"]["MemoryMB"].number()) << 20;
  auto memory = bytes(memory_limit);
  const auto used = usage["Tasks"][task]["ResourceUsage"];
  if (!used.is_null()) {
    cpu = fmt::format("{:.0f}/{}", used["CpuStats"]["TotalTicks"].real(), cpu);
    auto amount = used["MemoryStats"]["RSS"].number();
    if (amount == 0) amount = used["MemoryStats"]["Usage"].number();
    memory = bytes(static_cast<std::uint64_t>(amount)) + '/' + memory;
  }
  const auto disk
      = static_cast<std::uint64_t>(alloc["AllocatedResources"]["Shared"]["DiskMB"].number()) << 20;
  auto addresses = task_addresses(asked);
  addresses.resize(std::max<std::size_t>(addresses.size(), 1), " ");
  Rows rows{{"CPU", "Memory", "Disk", "Addresses"}, {cpu, memory, bytes(disk), addresses[0]}};
  const auto most = static_cast<std::uint64_t>(asked["Memory"]["MemoryMaxMB"].number()) << 20;
  const bool has_most = most != 0 && most != memory_limit;
  if (has_most) addresses.resize(std::max<std::size_t>(addresses.size(), 2), " ");
  for (std::size_t i = 1; i < addresses.size(); ++i)
    rows.push_back({" ", i == 1 && has_most ? "Max: " + bytes(most) : " ", " ", addresses[i]});
  std::cout << title("Task Resources:") << '\n' << table(rows) << '\n';
}

void print_volumes(const View& alloc, const View& task) {
  const auto volumes = group_of(alloc)["Volumes"];
  Rows rows{{"ID", "Read Only"}};
  for (const auto& mount : task["VolumeMounts"].items())
    if (const auto volume = volumes[mount["Volume"].text()]; volume["Type"].text() == "host")
      rows.push_back({volume["Name"].text(), mount["ReadOnly"].truth() ? "true" : "false"});
  if (rows.size() > 1) std::cout << '\n' << title("Host Volumes:") << '\n' << table(rows) << '\n';
}

struct IdentityLocation {
  std::string task;
  std::string service;
  std::string name;
};

/// When the newest of an identity ends, as its node says; of one that it does not know, what the
/// job says of its life.
std::string expiry_of(const View& identity, const View& known, const IdentityLocation& location) {
  const auto ttl = identity["TTL"].number();
  if (ttl <= 0) return "with the allocation";
  for (const auto& one : known.items())
    if (one["Task"].text() == location.task && one["Service"].text() == location.service
        && one["Name"].text() == location.name && one["ExpiresAt"].number() > 0)
      return fmt::format("{}, renewed before", clock_time(one["ExpiresAt"].number()));
  return fmt::format("after {}, renewed before", format_duration(Nanoseconds{ttl}));
}

/// Those of a task and its services, or, without a task, of the group's services; nothing of a
/// token.
void print_identities(const View& of, const std::string& task, const View& known) {
  Rows rows{{"Name", "Audience", "Expires"}};
  const auto add = [&](const View& identity, const std::string& service) {
    if (identity.is_null()) return;
    const auto given = identity["Name"].text();
    const auto name = given.empty() ? "default" : given;
    std::string audience;
    for (const auto& one : identity["Audience"].items())
      audience.append(audience.empty() ? "" : ", ").append(one.text());
    if (audience.empty()) audience = service.empty() ? "nomadproject.io" : "";
    rows.push_back({service.empty() ? name : fmt::format("{} of service {}", name, service),
                    audience, expiry_of(identity, known, {task, service, name})});
  };
  add(of["Identity"], "");
  for (const auto& identity : of["Identities"].items())
    add(identity, "");
  for (const auto& service : of["Services"].items())
    add(service["Identity"], service["Name"].text());
  if (rows.size() > 1) std::cout << '\n' << title("Identities:") << '\n' << table(rows) << '\n';
}

bool has_identity(const View& of) {
  const auto services = of["Services"].items();
  return !of["Identity"].is_null() || !of["Identities"].items().empty()
         || std::any_of(services.begin(), services.end(),
                        [](const View& service) { return !service["Identity"].is_null(); });
}

/// What its node says of them, if the job has any; empty also where that does not answer.
Answer read_identities(Api& api, const View& alloc) {
  const auto group = group_of(alloc);
  const auto tasks = group["Tasks"].items();
  if (!has_identity(group) && std::none_of(tasks.begin(), tasks.end(), has_identity)) return {};
  auto got = api.get("/v1/client/allocation/" + alloc["ID"].text() + "/identities");
  return got ? std::move(*got) : Answer{};
}

/// A CPU measure: shares in percent, times as counts.
std::string amount_of(const std::string& measure, double value) {
  const bool is_share = measure == "Percent" || measure.ends_with(" Mode");
  return is_share ? fmt::format("{:.2f}%", value) : fmt::format("{:.0f}", value);
}

void print_stats(const View& usage) {
  for (const auto* kind : {"MemoryStats", "CpuStats"}) {
    const auto stats = usage["ResourceUsage"][kind];
    Row names;
    Row amounts;
    auto measures = stats["Measured"].items();
    std::sort(measures.begin(), measures.end(),
              [](const View& a, const View& b) { return a.text() < b.text(); });
    for (const auto& measured : measures) {
      std::string field = measured.text();
      std::string member = field;
      std::erase(member, ' ');
      names.push_back(field);
      amounts.push_back(std::string_view{kind} == "MemoryStats"
                            ? bytes(static_cast<std::uint64_t>(stats[member].number()))
                            : amount_of(field, stats[member].real()));
    }
    if (names.empty()) continue;
    std::cout << '\n'
              << title(std::string_view{kind} == "MemoryStats" ? "Memory Stats" : "CPU Stats")
              << '\n'
              << table({names, amounts}) << '\n';
  }
}

void print_events(const View& state) {
  std::cout << '\n'
            << title("Task Events:") << '\n'
            << pairs({{"Started At", clock_time(state["StartedAt"])},
                      {"Finished At", clock_time(state["FinishedAt"])},
                      {"Total Restarts", state["Restarts"].text()},
                      {"Last Restart", clock_time(state["LastRestart"])}})
            << "\n\n";
  auto events = state["Events"].items();
  std::reverse(events.begin(), events.end());
  Rows rows{{"Time", "Type", "Description"}};
  for (const auto& event : events)
    rows.push_back(
        {clock_time(event["Time"].number()), event["Type"].text(), event["DisplayMessage"].text()});
  std::cout << title("Recent Events:") << '\n' << table(rows) << '\n';
}

void print_short(const View& alloc) {
  Rows rows{{"Name", "State", "Last Event", "Time", "Lifecycle"}};
  for (const auto& name : tasks_in_order(alloc)) {
    const auto state = alloc["TaskStates"][name];
    const auto events = state["Events"].items();
    const auto hook = task_of(alloc, name)["Lifecycle"]["Hook"].text();
    rows.push_back({name, state["State"].text(), events.empty() ? "" : events.back()["Type"].text(),
                    events.empty() ? "" : clock_time(events.back()["Time"].number()),
                    hook.empty() ? "main" : hook});
  }
  std::cout << '\n' << title("Tasks") << '\n' << table(rows) << '\n';
}

void print_scores(const View& alloc) {
  const auto scores = alloc["Metrics"]["ScoreMetaData"].items();
  if (scores.empty()) return;
  Row header{"Node"};
  for (const auto& [name, value] : scores[0]["Scores"].members())
    header.push_back(name);
  header.emplace_back("final score");
  Rows rows{header};
  for (const auto& node : scores) {
    Row row{node["NodeID"].text()};
    for (std::size_t i = 1; i + 1 < header.size(); ++i)
      row.push_back(fmt::format("{:.3g}", node["Scores"][header[i]].real()));
    row.push_back(fmt::format("{:.3g}", node["NormScore"].real()));
    rows.push_back(std::move(row));
  }
  std::cout << '\n' << title("Placement Metrics") << '\n' << table(rows) << '\n';
}

/// What the tasks use. Shares of the processor are counted since somebody asked last, and are 0
/// when nobody has: `now` asks twice, and shows what was used in between.
Result<Answer> read_usage(Api& api, const std::string& id, bool now) {
  constexpr std::chrono::milliseconds between{500};
  const auto path = "/v1/client/allocation/" + id + "/stats";
  if (now) {
    NOMAD_TRY(api.get(path));
    std::this_thread::sleep_for(between);
  }
  return api.get(path);
}

/// What its node keeps of the past; empty also where it keeps nothing, or does not answer.
Answer read_past(Api& api, const std::string& id) {
  auto got = api.get("/v1/client/metrics/history?alloc_id=" + id);
  return got ? std::move(*got) : Answer{};
}

/// A line for each resource whose reservation is far from its use.
void print_advice(const View& past, const std::string& task) {
  for (const auto& one : past.items()) {
    if (one["Task"].text() != task) continue;
    for (const auto& advice : one["Advice"].items())
      std::cout << "Advice: " << advice["Text"].text() << '\n';
  }
}

Result<int> show(Api& api, const AllocStatusFlags& flags, const Answer& answer) {
  const auto alloc = answer.view();
  if (flags.brief) {
    print_brief(alloc);
    print_short(alloc);
    return 0;
  }
  print_basics(api, alloc, flags.verbose);
  print_addresses(alloc);
  Answer usage;
  const auto client_status = alloc["ClientStatus"].text();
  if (client_status == "running" || flags.stats) {
    auto got = read_usage(api, alloc["ID"].text(), flags.stats);
    if (got) {
      usage = std::move(*got);
    } else {
      std::cout << '\n';
      fail("Couldn't retrieve stats", got.error());
    }
  }
  Answer past;
  if (client_status == "running") {
    past = read_past(api, alloc["ID"].text());
    print_checks(api, alloc);
  }
  Answer identities;
  if (flags.verbose && client_status == "running") identities = read_identities(api, alloc);
  if (flags.verbose) print_identities(group_of(alloc), "", identities.view());
  for (const auto& name : tasks_in_order(alloc)) {
    const auto state = alloc["TaskStates"][name];
    std::cout << '\n'
              << title(fmt::format("Task \"{}\"{} is \"{}\"{}", name,
                                   lifecycle_note(task_of(alloc, name)), state["State"].text(),
                                   schedule_note(state)))
              << '\n';
    print_resources(alloc, name, usage.view());
    print_advice(past.view(), name);
    if (flags.stats) print_stats(usage.view()["Tasks"][name]);
    print_volumes(alloc, task_of(alloc, name));
    if (flags.verbose) print_identities(task_of(alloc, name), name, identities.view());
    print_events(state);
  }
  if (flags.verbose) print_scores(alloc);
  return 0;
}

}  // namespace

Result<int> run_alloc_status(const std::vector<std::string>& arguments) {
  AllocStatusFlags command{"alloc status [options] <id>",
                           "Shows an allocation, its tasks and events."};
  if (auto code = command.start(arguments, any_words)) return *code;
  auto& api = *command.api;
  if (command.positional().empty() && command.output.requested()) {
    auto list = NOMAD_TRY(api.get("/v1/allocations").within("Error querying allocations"));
    return *command.output.print(as_printed(ApiShape::alloc_stub, list.body));
  }
  if (command.positional().size() != 1)
    return command.misuse(
        "This command takes one of the following argument conditions:\n * A single <allocation>\n"
        " * No arguments, with output format specified");
  auto kind = alloc_kind;
  kind.title = "Identifier";
  auto alloc = NOMAD_TRY(find_by_prefix(api, kind, command.positional()[0], command.verbose));
  if (auto code = command.output.print(as_printed(ApiShape::alloc, alloc.body))) return *code;
  return show(api, command, alloc);
}

}  // namespace nomad::cli
