#include "runtime/jobspec/validate/validate.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "runtime/base/text.hpp"
#include "runtime/jobspec/validate/rules.hpp"
#include "runtime/jobspec/validate/total_count.hpp"

namespace nomad::jobspec {

namespace {

bool contains(std::string_view text, char c) {
  return text.find(c) != std::string_view::npos;
}

bool is_multiregion(const DraftBlock& job) {
  const DraftBlock multiregion = job.child("Multiregion");
  return multiregion && !multiregion.list("Regions").empty();
}

/// Names are in the keys of everything that belongs to a job, so they are bounded, which they are
/// not in Nomad.
constexpr std::size_t longest_name = 1024;

bool is_built_in(std::string_view type) {
  return type == "service" || type == "batch" || type == "system" || type == "sysbatch"
         || type == "_core";
}

/// Whether somebody may schedule jobs of the type.
bool is_known_type(std::string_view type, const ValidateOptions& options) {
  return is_built_in(type) || !options.job_types
         || std::ranges::find(*options.job_types, type) != options.job_types->end();
}

void check_names(const DraftBlock& job, const ValidateOptions& options, Mistakes& out) {
  if (job.text("Region").empty() && !job.has("Multiregion")) out.add("Missing job region");
  const std::string_view id = job.text("ID");
  if (id.empty())
    out.add("Missing job ID");
  else if (contains(id, ' '))
    out.add("Job ID contains a space");
  else if (contains(id, '\0'))
    out.add("Job ID contains a null character");
  else if (id.size() > longest_name)
    out.add(fmt::format("Job ID has more than {} bytes", longest_name));
  const std::string_view name = job.text("Name");
  if (name.empty())
    out.add("Missing job name");
  else if (contains(name, '\0'))
    out.add("Job Name contains a null character");
  else if (name.size() > longest_name)
    out.add(fmt::format("Job name has more than {} bytes", longest_name));

  const std::string_view type = job.text("Type");
  if (type.empty())
    out.add("Missing job type");
  else if (!is_known_type(type, options))
    out.add("Invalid job type: " + quote(type));
}

void check_datacenters(const DraftBlock& job, Mistakes& out) {
  for (const auto datacenter : job.texts("Datacenters"))
    if (view(datacenter).empty()) out.add("Job datacenter must be non-empty string");
}

void check_ui(const DraftBlock& job, Mistakes& out) {
  constexpr std::size_t longest = 1000;
  const DraftBlock ui = job.child("UI");
  const std::size_t bytes = ui ? ui.text("Description").size() : 0;
  if (bytes > longest)
    out.add(
        fmt::format("UI description must be under {} characters, currently {}", longest, bytes));
}

/// What concerns several groups, or a group and the job's type.
void check_groups_together(const DraftBlock& job, std::string_view type, Mistakes& out) {
  std::map<std::string_view, int> first_of;
  int position = 0;
  job.each("TaskGroups", [&](const DraftBlock& group) {
    ++position;
    const std::string_view name = group.text("Name");
    if (name.empty())
      out.add(fmt::format("Job task group {} missing name", position));
    else if (name.size() > longest_name)
      out.add(fmt::format("Job task group {} has a name of more than {} bytes", position,
                          longest_name));
    else if (const auto [first, fresh] = first_of.emplace(name, position); !fresh)
      out.add(fmt::format("Job task group {} redefines '{}' from group {}", position, name,
                          first->second));

    if (group.number("ShutdownDelay") < 0) out.add("ShutdownDelay must be a positive value");
    const std::int64_t stop_after = group.number("StopAfterClientDisconnect");
    if (stop_after > 0 && type != "batch" && type != "service")
      out.add("stop_after_client_disconnect can only be set in batch and service jobs");
    if (stop_after < 0) out.add("stop_after_client_disconnect must be a positive value");
    if (const std::int64_t count = group.number("Count"); type == "system" && count > 1)
      out.add(
          fmt::format("Job task group {} has count {}. Count cannot exceed 1 with system "
                      "scheduler",
                      name, count));
    if (group.has("MaxClientDisconnect") && group.flag("PreventRescheduleOnLost")
        && group.child("ReschedulePolicy").number("Attempts") > 0)
      out.add(
          "max_client_disconnect and prevent_reschedule_on_lost cannot be enabled when "
          "rechedule.attempts > 0");
  });
}

void check_launching(const DraftBlock& job, std::string_view type, Mistakes& out) {
  const bool batch = type == "batch" || type == "sysbatch";
  if (const DraftBlock periodic = job.child("Periodic"); periodic && periodic.flag("Enabled")) {
    if (!batch) out.add("Periodic can only be used with \"batch\" or \"sysbatch\" scheduler");
    out.add_joined("", check_periodic(periodic));
  }
  if (const DraftBlock parameterized = job.child("ParameterizedJob");
      parameterized && !job.flag("Dispatched")) {
    if (!batch)
      out.add("Parameterized job can only be used with \"batch\" or \"sysbatch\" scheduler");
    out.add_joined("", check_parameterized(parameterized));
  }
  if (is_multiregion(job)) out.add("Multiregion jobs are unlicensed.");
}

Mistakes check_job(const DraftBlock& job, const ValidateOptions& options) {
  Mistakes out;
  const std::string_view type = job.text("Type");
  check_names(job, options, out);
  check_datacenters(job, out);
  if (job.list("TaskGroups").empty()) out.add("Missing job task groups");
  check_constraints(job, out);
  check_affinities(job, type == "system", out);
  check_spreads(job, type == "system", out);
  check_ui(job, out);
  check_groups_together(job, type, out);
  job.each("TaskGroups", [&](const DraftBlock& group) {
    if (const Mistakes found = check_group(group, job, options); !found.empty())
      out.add(fmt::format("Task group {} validation failed: {}", group.text("Name"), found.text()));
  });
  check_launching(job, type, out);
  return out;
}

/// Rules about registering, beyond what the job itself must obey.
void check_registration(const DraftBlock& job, const ValidateOptions& options, Mistakes& out) {
  if (job.text("Type") == "_core") out.add("job type cannot be core");
  if (job.bytes("Payload").size() != 0)
    out.add("job can't be submitted with a payload, only dispatched");
  const std::int64_t priority = job.number("Priority");
  if (priority < min_priority || priority > options.max_priority)
    out.add(
        fmt::format("job priority must be between [{}, {}]", min_priority, options.max_priority));
  TotalCount total;
  job.each("TaskGroups", [&](const DraftBlock& group) { total.add(group.number("Count")); });
  if (const auto kept = total.check(options.max_count); !kept) out.add(kept.error().what);
}

void collect_warnings(const DraftBlock& job, const ValidateOptions& options, Mistakes& out) {
  if (const auto type = job.text("Type"); !options.job_types && !is_built_in(type))
    out.add("Job type " + quote(type)
            + " is known only to servers with a plugin that schedules it");
  if (!options.providers) warn_of_providers(job, out);
  bool any_auto_promote = false;
  bool all_auto_promote = true;
  job.each("TaskGroups", [&](const DraftBlock& group) {
    if (const Mistakes found = group_warnings(group, is_multiregion(job)); !found.empty())
      out.add(fmt::format("Group {} has warnings: {}", quote(group.text("Name")), found.text()));
    if (const DraftBlock update = group.child("Update")) {
      const bool auto_promote = update.flag("AutoPromote");
      any_auto_promote = any_auto_promote || auto_promote;
      all_auto_promote = all_auto_promote && (auto_promote || update.number("Canary") == 0);
    }
  });
  if (any_auto_promote && !all_auto_promote)
    out.add("auto_promote must be true for all groups to enable automatic promotion");
  if (const DraftBlock periodic = job.child("Periodic"); periodic && !periodic.text("Spec").empty())
    out.add("cron is deprecated and may be removed in a future release. Use crons instead");

  if (options.memory_oversubscription) return;
  job.each("TaskGroups", [&](const DraftBlock& group) {
    group.each("Tasks", [&](const DraftBlock& task) {
      const DraftBlock resources = task.child("Resources");
      if (!resources || resources.number("MemoryMaxMB") == 0) return;
      out.add([&] {
        return fmt::format(
            "Memory oversubscription is not enabled; Task \"{}.{}\" memory_max value will be "
            "ignored. Update the Scheduler Configuration to allow oversubscription.",
            group.text("Name"), task.text("Name"));
      });
    });
  });
}

}  // namespace

std::string join_errors(const std::vector<std::string>& errors) {
  if (errors.empty()) return {};
  std::string out = errors.size() == 1 ? "1 error occurred:\n"
                                       : fmt::format("{} errors occurred:\n", errors.size());
  for (const std::string& error : errors)
    out += "\t* " + error + "\n";
  return out + "\n";
}

std::string join_warnings(const std::vector<std::string>& warnings) {
  if (warnings.empty()) return {};
  std::string out
      = warnings.size() == 1 ? "1 warning:\n" : fmt::format("{} warnings:\n", warnings.size());
  for (const std::string& warning : warnings)
    out += "\n* " + std::string{trim(warning)};
  return out;
}

std::string Validation::error_text() const {
  return join_errors(errors);
}

std::string Validation::warning_text() const {
  return join_warnings(warnings);
}

Validation validate(const DraftBlock& job, const ValidateOptions& options) {
  Mistakes mistakes;
  if (std::string refused = check_connect_use(job); !refused.empty())
    mistakes.add(std::move(refused));
  if (std::string refused = check_expose_use(job); !refused.empty())
    mistakes.add(std::move(refused));
  for (const std::string& error : options.state_errors)
    mistakes.add(error);
  mistakes.add_each(check_job(job, options));
  check_registration(job, options, mistakes);
  check_bounds(job, options.bounds, mistakes);

  Mistakes warnings;
  collect_warnings(job, options, warnings);
  check_support(job, options.allow_refused, mistakes, warnings);
  return {.errors = mistakes.texts(), .warnings = warnings.texts()};
}

}  // namespace nomad::jobspec
