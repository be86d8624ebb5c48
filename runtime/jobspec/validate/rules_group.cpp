// Rules about groups: their policies, volumes and networks, and how their tasks go together.
#include <map>

#include <fmt/format.h>

#include "runtime/base/text.hpp"
#include "runtime/jobspec/validate/rules.hpp"
#include "runtime/object/disconnect.hpp"

namespace nomad::jobspec {

namespace {

constexpr std::int64_t max_port = 65'535;
constexpr std::int64_t min_disk_mb = 10;

/// Its own rules, of Nomad 1.8.
Mistakes check_disconnect_block(const DraftBlock& block, std::string_view type) {
  Mistakes out;
  const bool stops = block.has("StopOnClientAfter");
  if (block.number("StopOnClientAfter") < 0) out.add("stop_after cannot be a negative duration");
  if (stops && type != "service" && type != "batch")
    out.add("stop_after can only be used with service or batch job types");
  if (block.number("LostAfter") < 0) out.add("lost_after cannot be a negative duration");
  if (stops && block.number("LostAfter") != 0)
    out.add("Disconnect cannot be configured with both lost_after and stop_after");
  const std::string_view reconcile = block.text("Reconcile");
  if (!reconcile_named(reconcile))
    out.add(fmt::format("reconcile option is invalid: {}", reconcile));
  return out;
}

/// False: the block says what an older field says, and nothing more is looked at.
bool check_disconnect(const DraftBlock& group, std::string_view type, Mistakes& out) {
  const bool has_limit = group.has("MaxClientDisconnect");
  if (has_limit && group.has("StopAfterClientDisconnect"))
    out.add(
        "Task group cannot be configured with both max_client_disconnect and "
        "stop_after_client_disconnect");
  if (group.number("MaxClientDisconnect") < 0) out.add("max_client_disconnect cannot be negative");
  const DraftBlock block = group.child("Disconnect");
  if (!block) return true;
  if (group.number("MaxClientDisconnect") > 0 || (has_limit && block.number("LostAfter") > 0))
    out.add("using both lost_after and max_client_disconnect is not allowed");
  else if (group.has("StopAfterClientDisconnect"))
    out.add("using both stop_after_client_disconnect and stop_on_client_after is not allowed");
  else if (group.flag("PreventRescheduleOnLost"))
    out.add("using both prevent_reschedule_on_lost and replace is not allowed");
  else {
    out.add_each(check_disconnect_block(block, type));
    return true;
  }
  return false;
}

void check_policies(const DraftBlock& group, std::string_view type, Mistakes& out) {
  if (const DraftBlock restart = group.child("RestartPolicy"))
    out.add_joined("", check_restart(restart));
  check_spreads(group, type == "system", out);

  const DraftBlock reschedule = group.child("ReschedulePolicy");
  if (type == "system") {
    if (reschedule) out.add("System jobs should not have a reschedule policy");
  } else if (reschedule) {
    out.add_joined("", check_reschedule(reschedule));
  }

  if (const DraftBlock disk = group.child("EphemeralDisk"))
    if (const std::int64_t size = disk.number("SizeMB"); size < min_disk_mb)
      out.add(fmt::format("minimum DiskMB value is {}; got {}", min_disk_mb, size));

  if (const DraftBlock update = group.child("Update")) {
    if (type != "service" && type != "system")
      out.add(fmt::format("Job type {} does not allow update block", quote(type)));
    out.add_joined("", check_update(update));
  }
  if (const DraftBlock migrate = group.child("Migrate")) {
    if (type == "service")
      out.add_joined("", check_migrate(migrate));
    else
      out.add(fmt::format("Job type {} does not allow migrate block", quote(type)));
  }
}

void check_tasks_together(const DraftBlock& group, Mistakes& out) {
  std::map<std::string_view, int> first_of;
  int position = 0;
  int leaders = 0;
  group.each("Tasks", [&](const DraftBlock& task) {
    ++position;
    const std::string_view name = task.text("Name");
    if (name.empty())
      out.add(fmt::format("Task {} missing name", position));
    else if (const auto [first, fresh] = first_of.emplace(name, position); !fresh)
      out.add(fmt::format("Task {} redefines '{}' from task {}", position, name, first->second));
    if (task.flag("Leader")) ++leaders;
  });
  if (leaders > 1) out.add("Only one task may be marked as leader");
}

void check_volumes(const DraftBlock& group, std::string_view type, Mistakes& out) {
  const std::int64_t canaries = group.child("Update").number("Canary");
  for (const DraftBlock entry : group.list("Volumes")) {
    const DraftBlock volume = entry.child("Value");
    const auto kind = volume.text("Type");
    const bool is_known = kind == "host" || kind == "csi";
    const auto found
        = is_known ? check_volume(volume, type, group.number("Count"), canaries) : Mistakes{};
    if (is_known && found.empty()) continue;
    out.add(fmt::format(
        "Task group volume validation for {} failed: {}", entry.text("Key"),
        is_known ? found.text() : fmt::format("volume has unrecognized type {}", kind)));
  }
}

void check_csi_access(const DraftBlock& volume, std::int64_t count, Mistakes& out) {
  const std::string_view attachment = volume.text("AttachmentMode");
  const std::string_view access = volume.text("AccessMode");
  const bool read_only = volume.flag("ReadOnly");
  const bool shared = count > 1 && !volume.flag("PerAlloc");

  if (attachment.empty()) out.add("CSI volumes must have an attachment mode");
  if (attachment == "block-device" && volume.has("MountOptions"))
    out.add("block devices cannot have mount options");
  if (access.empty()) {
    out.add("CSI volumes must have an access mode");
  } else if (access == "single-node-reader-only") {
    if (!read_only) out.add(fmt::format("{} volumes must be read-only", access));
    if (shared) out.add(fmt::format("volume with {} access mode allows only one reader", access));
  } else if (access == "single-node-writer") {
    if (shared)
      out.add(fmt::format("volume with {} access mode allows only one reader or writer", access));
  } else if (access == "multi-node-reader-only") {
    if (!read_only) out.add(fmt::format("{} volumes must be read-only", access));
  } else if (access == "multi-node-single-writer") {
    if (!read_only && shared)
      out.add(fmt::format("volume with {} access mode allows only one writer", access));
  }
}

/// Names of hosts as DNS reads them: labels of less than 64 bytes, 255 in all.
bool is_domain_name(std::string_view name) {
  if (name.empty()) return false;
  std::string full{name};
  if (!full.ends_with('.')) full += '.';
  std::size_t length = 0;
  std::size_t begin = 0;
  bool after_dot = false;
  for (std::size_t at = 0; at < full.size(); ++at) {
    if (full[at] == '\\') {
      ++at;
      ++begin;
      after_dot = false;
    } else if (full[at] == '.') {
      if ((at == 0 && full.size() > 1) || after_dot) return false;
      after_dot = true;
      if (at - begin >= 64) return false;
      length += 1 + at - begin;
      if (length > 256) return false;
      begin = at + 1;
    } else {
      after_dot = false;
    }
  }
  return true;
}

/// Port labels and static ports of a group, to find those used twice.
class PortRegister {
public:
  explicit PortRegister(Mistakes& out) : out_{out} {}

  /// `task` is null for a port of the group itself.
  void add(const DraftBlock& port, const std::string_view* task) {
    const std::string_view label = port.text("Label");
    if (const auto found = labels_.find(label); found != labels_.end())
      out_.add(fmt::format("Port label {} already in use by {}", label, found->second));
    else if (task == nullptr)
      labels_.emplace(label, "taskgroup network");
    add_static(port, label, task);
  }

private:
  void add_static(const DraftBlock& port, std::string_view label, const std::string_view* task) {
    const std::int64_t number = port.number("Value");
    if (number == 0) return;
    const std::string_view network = port.text("HostNetwork");
    const auto key = std::pair{network.empty() ? "default" : network, number};
    if (const auto found = statics_.find(key); found != statics_.end()) {
      if (task == nullptr && port.flag("IgnoreCollision")) return;
      out_.add(fmt::format("Static port {} already reserved by {}", number, found->second));
    } else if (number > max_port)
      out_.add(fmt::format("Port {} ({}) cannot be greater than {}", label, number, max_port));
    else
      statics_.emplace(key, task == nullptr ? fmt::format("taskgroup network:{}", label)
                                            : fmt::format("{}:{}", *task, label));
  }

  Mistakes& out_;
  std::map<std::string_view, std::string_view> labels_;
  std::map<std::pair<std::string_view, std::int64_t>, std::string> statics_;
};

template <class Visit>
void each_port(const DraftBlock& network, Visit&& visit) {
  network.each("ReservedPorts", visit);
  network.each("DynamicPorts", visit);
}

void check_mapping(const DraftBlock& port, Mistakes& out) {
  const std::int64_t to = port.number("To");
  const std::string_view label = port.text("Label");
  if (to < -1)
    out.add(fmt::format("Port {} cannot be mapped to negative value {}", quote(label), to));
  else if (to > max_port)
    out.add(fmt::format("Port {} cannot be mapped to a port ({}) greater than {}", quote(label), to,
                        max_port));
}

}  // namespace

Mistakes check_networks(const DraftBlock& group) {
  Mistakes out;
  PortRegister ports{out};
  group.each("Networks", [&](const DraftBlock& network) {
    each_port(network, [&](const DraftBlock& port) {
      ports.add(port, nullptr);
      check_mapping(port, out);
      const std::string_view mode = network.text("Mode");
      if (port.flag("IgnoreCollision") && !mode.empty() && mode != "host")
        out.add(fmt::format("Port {} collision may not be ignored on non-host network mode {}",
                            quote(port.text("Label")), quote(mode)));
    });
    const std::string_view hostname = network.text("Hostname");
    if (!hostname.empty() && hostname.find("${") == std::string_view::npos
        && !is_domain_name(hostname))
      out.add("Hostname is not a valid DNS name");
  });
  group.each("Tasks", [&](const DraftBlock& task) {
    const DraftBlock resources = task.child("Resources");
    if (!resources) return;
    const std::string_view name = task.text("Name");
    resources.each("Networks", [&](const DraftBlock& network) {
      each_port(network, [&](const DraftBlock& port) { ports.add(port, &name); });
    });
  });
  return out;
}

Mistakes check_volume(const DraftBlock& volume,
                      std::string_view job_type,
                      std::int64_t count,
                      std::int64_t canaries) {
  Mistakes out;
  const std::string_view type = volume.text("Type");
  if (volume.text("Source").empty()) out.add("volume has an empty source");
  if (volume.flag("PerAlloc")) {
    if (job_type == "system" || job_type == "sysbatch")
      out.add("volume cannot be per_alloc for system or sysbatch jobs");
    if (canaries > 0) out.add("volume cannot be per_alloc when canaries are in use");
  }
  if (type == "csi") {
    check_csi_access(volume, count, out);
    return out;
  }
  if (!volume.text("AttachmentMode").empty())
    out.add("host volumes cannot have an attachment mode");
  if (!volume.text("AccessMode").empty()) out.add("host volumes cannot have an access mode");
  if (volume.has("MountOptions")) out.add("host volumes cannot have mount options");
  return out;
}

Mistakes check_group(const DraftBlock& group,
                     const DraftBlock& job,
                     const ValidateOptions& options) {
  Mistakes out;
  const std::string_view type = job.text("Type");
  const std::string_view name = group.text("Name");
  if (name.empty())
    out.add("Missing task group name");
  else if (name.find('\0') != std::string_view::npos)
    out.add("Task group name contains null character");
  if (group.number("Count") < 0) out.add("Task group count can't be negative");
  if (group.list("Tasks").empty()) out.add("Missing tasks for task group");
  if (!check_disconnect(group, type, out)) return out;
  check_constraints(group, out);
  check_affinities(group, type == "system", out);
  check_policies(group, type, out);
  check_tasks_together(group, out);
  check_volumes(group, type, out);
  out.add_joined("Task group network validation failed: ", check_networks(group));
  out.add_joined("Task group service validation failed: ", check_group_services(group, options));
  out.add_joined("Task group service check validation failed: ", check_script_checks(group));
  out.add_joined("Task group scaling policy validation failed: ", check_scaling(group, job));
  group.each("Tasks", [&](const DraftBlock& task) {
    if (const Mistakes found = check_task(task, type, group, options); !found.empty())
      out.add(fmt::format("Task {} validation failed: {}", task.text("Name"), found.text()));
  });
  return out;
}

Mistakes group_warnings(const DraftBlock& group, bool multiregion) {
  Mistakes out;
  const std::int64_t count = group.number("Count");
  if (const DraftBlock update = group.child("Update")) {
    const std::int64_t parallel = update.number("MaxParallel");
    if (count > 1 && parallel > count && !(multiregion && count == 0))
      out.add(
          fmt::format("Update max parallel count is greater than task group count ({} > {}). "
                      "A destructive change would result in the simultaneous replacement of "
                      "all allocations.",
                      parallel, count));
  }
  const DraftBlocks networks = group.list("Networks");
  if (!networks.empty() && networks.front().number("MBits") > 0)
    out.add(
        "mbits has been deprecated as of Nomad 0.12.0. Please remove mbits from the network "
        "block");
  warn_of_checks(group, out);
  group.each("Tasks", [&](const DraftBlock& task) {
    warn_of_checks(task, out);
    Mistakes of_task;
    const std::string prefix = fmt::format("Task {}: ", quote(task.text("Name")));
    if (const DraftBlock resources = task.child("Resources")) {
      if (resources.number("IOPS") != 0)
        of_task.add(prefix + "IOPS has been deprecated as of Nomad 0.9.0. Please remove IOPS from "
                             "resource block.");
      if (!resources.list("Networks").empty())
        of_task.add(prefix + "task network resources have been deprecated as of Nomad 0.12.0. "
                             "Please configure networking via group network block.");
    }
    int position = 0;
    task.each("Templates", [&](const DraftBlock& tmpl) {
      Mistakes of_template;
      if (tmpl.number("VaultGrace") != 0)
        of_template.add(fmt::format(
            "Template[{}] VaultGrace has been deprecated as of Nomad 0.11 and ignored since Vault "
            "0.5. Please remove VaultGrace / vault_grace from template block.",
            position));
      of_task.add_joined(prefix, of_template);
      ++position;
    });
    out.add_joined("", of_task);
  });
  return out;
}

}  // namespace nomad::jobspec
