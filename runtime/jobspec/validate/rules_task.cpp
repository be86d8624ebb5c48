// Rules about tasks and what they are made of.
#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "runtime/base/text.hpp"
#include "runtime/jobspec/canonical/interpolation.hpp"
#include "runtime/jobspec/cron/task_schedule.hpp"
#include "runtime/jobspec/validate/rules.hpp"
#include "runtime/template/functions/library.hpp"
#include "runtime/template/render.hpp"

namespace nomad::jobspec {

namespace {

constexpr std::int64_t min_cpu = 1;
constexpr std::int64_t min_memory_mb = 10;

/// Names that would fall together with directories which every allocation has.
bool is_reserved_name(std::string_view name) {
  return name == "alloc" || name == "." || name == "..";
}

void check_name(std::string_view name, Mistakes& out) {
  if (name.empty()) out.add("Missing task name");
  if (name.find_first_of("/\\") != std::string_view::npos)
    out.add("Task name cannot include slashes");
  else if (name.find('\0') != std::string_view::npos)
    out.add("Task name cannot include null characters");
  else if (is_reserved_name(name))
    out.add(fmt::format("Task name {} is reserved", quote(name)));
}

void check_timing(const DraftBlock& task,
                  std::string_view job_type,
                  const DraftBlock& group,
                  Mistakes& out) {
  const std::int64_t kill = task.number("KillTimeout");
  const DraftBlock update = group.child("Update");
  const std::int64_t progress = !update ? 0 : update.number("ProgressDeadline");
  if (kill < 0)
    out.add("KillTimeout must be a positive value");
  else if (job_type == "service" && progress > 0 && kill > progress)
    out.add(fmt::format("KillTimout ({}) longer than the group's ProgressDeadline ({})",
                        duration_text(kill), duration_text(progress)));
  if (task.number("ShutdownDelay") < 0) out.add("ShutdownDelay must be a positive value");
}

Mistakes check_device(const DraftBlock& device) {
  Mistakes out;
  if (device.text("Name").empty())
    out.add(
        "device name must be given as one of the following: type, vendor/type, or "
        "vendor/type/name");
  int position = 0;
  device.each("Constraints", [&](const DraftBlock& constraint) {
    ++position;
    const std::string_view operand = constraint.text("Operand");
    if (operand == "distinct_hosts" || operand == "distinct_property")
      out.add(fmt::format("Constraint {} validation failed: using unsupported operand {}", position,
                          quote(operand)));
    else
      out.add_joined(fmt::format("Constraint {} validation failed: ", position),
                     check_constraint(constraint));
  });
  check_affinities(device, false, out);
  return out;
}

Mistakes check_resources(const DraftBlock& resources) {
  Mistakes out;
  const std::int64_t cpu = resources.number("CPU");
  const std::int64_t cores = resources.number("Cores");
  const std::int64_t memory = resources.number("MemoryMB");
  const std::int64_t memory_max = resources.number("MemoryMaxMB");
  if (cores > 0 && cpu > 0) out.add("Task can only ask for 'cpu' or 'cores' resource, not both.");
  Mistakes least;
  if (cpu < min_cpu && cores == 0)
    least.add(fmt::format("minimum CPU value is {}; got {}", min_cpu, cpu));
  if (memory < min_memory_mb)
    least.add(fmt::format("minimum MemoryMB value is {}; got {}", min_memory_mb, memory));
  out.add_joined("", least);
  int position = 0;
  resources.each("Devices", [&](const DraftBlock& device) {
    out.add_joined(fmt::format("device {} failed validation: ", ++position), check_device(device));
  });
  if (memory_max != 0 && memory_max < memory)
    out.add(fmt::format("MemoryMaxMB value ({}) should be larger than MemoryMB value ({})",
                        memory_max, memory));
  return out;
}

Mistakes check_logs(const DraftBlock& logs, const DraftBlock& disk) {
  Mistakes out;
  const std::int64_t files = logs.number("MaxFiles");
  const std::int64_t size = logs.number("MaxFileSizeMB");
  if (files < 1) out.add(fmt::format("minimum number of files is 1; got {}", files));
  if (size < 1) out.add(fmt::format("minimum file size is 1MB; got {}", size));
  if (!disk) return out;
  std::int64_t used = 0;
  if (__builtin_mul_overflow(files, size, &used)) used = INT64_MAX;
  if (const std::int64_t space = disk.number("SizeMB"); space <= used)
    out.add(fmt::format("log storage ({} MB) must be less than requested disk capacity ({} MB)",
                        used, space));
  return out;
}

void check_task_constraints(const DraftBlock& task, Mistakes& out) {
  int position = 0;
  task.each("Constraints", [&](const DraftBlock& constraint) {
    ++position;
    out.add_joined(fmt::format("Constraint {} validation failed: ", position),
                   check_constraint(constraint));
    const std::string_view operand = constraint.text("Operand");
    if (operand == "distinct_hosts" || operand == "distinct_property")
      out.add(
          fmt::format("Constraint {} has disallowed Operand at task level: {}", position, operand));
  });
}

Mistakes check_vault(const DraftBlock& vault) {
  Mistakes out;
  const auto policies = vault.texts("Policies");
  if (policies.size() == 0) out.add("Policy list cannot be empty");
  for (const auto policy : policies)
    if (view(policy) == "root") out.add("Can not specify \"root\" policy");
  const std::string_view mode = vault.text("ChangeMode");
  if (mode == "signal") {
    if (vault.text("ChangeSignal").empty())
      out.add("Signal must be specified when using change mode \"signal\"");
  } else if (mode != "noop" && mode != "restart") {
    out.add("Unknown change mode " + quote(mode));
  }
  return out;
}

void check_templates(const DraftBlock& task, Mistakes& out) {
  std::map<std::string_view, int> first_to;
  int position = 0;
  task.each("Templates", [&](const DraftBlock& tmpl) {
    ++position;
    out.add_joined(fmt::format("Template {} validation failed: ", position), check_template(tmpl));
    const auto [first, fresh] = first_to.emplace(tmpl.text("DestPath"), position);
    if (!fresh)
      out.add(fmt::format("Template {} has same destination as {}", position, first->second));
  });
}

Mistakes check_action(const DraftBlock& action) {
  constexpr std::size_t longest = 128;
  Mistakes out;
  const std::string_view name = action.text("Name");
  if (action.text("Command").empty()) out.add("command cannot be empty");
  constexpr std::string_view refused{"\t\n\f\r \0", 6};  // Go's \s among them
  const auto characters
      = std::ranges::count_if(name, [](char byte) { return (byte & 0xC0) != 0x80; });
  if (name.empty() || std::cmp_greater(characters, longest)
      || name.find_first_of(refused) != std::string_view::npos)
    out.add(fmt::format("invalid name '{}'", name));
  return out;
}

void check_actions(const DraftBlock& task, Mistakes& out) {
  std::map<std::string_view, int> times;
  task.each("Actions", [&](const DraftBlock& action) {
    const std::string_view name = action.text("Name");
    out.add_joined(fmt::format("Action {} validation failed: ", name), check_action(action));
    if (++times[name] == 2) out.add(fmt::format("Action {} defined multiple times", name));
  });
}

void check_schedule(const DraftBlock& task, Mistakes& out) {
  const DraftBlock schedule = task.child("Schedule");
  if (!schedule) return;
  constexpr std::string_view prefix = "Schedule validation failed: ";
  const DraftBlock cron = schedule.child("Cron");
  if (!cron) return out.add(std::string{prefix} + "must specify cron block");
  const auto parsed
      = TaskSchedule::parse(cron.text("Start"), cron.text("End"), cron.text("Timezone"));
  if (!parsed) out.add(std::string{prefix} + parsed.error().what);
  if (const DraftBlock lifecycle = task.child("Lifecycle");
      lifecycle && lifecycle.text("Hook") == "poststop")
    out.add(std::string{prefix} + "a poststop task runs when the others have ended");
}

void check_lifecycle(const DraftBlock& task, Mistakes& out) {
  const DraftBlock lifecycle = task.child("Lifecycle");
  if (!lifecycle) return;
  const std::string_view hook = lifecycle.text("Hook");
  if (hook != "prestart" && hook != "poststart" && hook != "poststop")
    out.add(fmt::format("Lifecycle validation failed: invalid hook: {}", hook));
}

void check_connect_proxy(const DraftBlock& task, const DraftBlock& group, Mistakes& out) {
  constexpr std::string_view prefix = "connect-proxy:";
  const std::string_view kind = task.text("Kind");
  if (!kind.starts_with(prefix) || kind.size() == prefix.size()) return;
  if (!task.list("Services").empty()) out.add("Connect proxy task must not have a service block");
  if (task.flag("Leader")) out.add("Connect proxy task must not have leader set");
  const std::string_view wanted = kind.substr(prefix.size());
  std::vector<std::string_view> others;
  bool found = false;
  group.each("Services", [&](const DraftBlock& service) {
    const DraftBlock connect = service.child("Connect");
    if (!connect || !connect.has("SidecarService")) return;
    const std::string_view name = service.text("Name");
    found = found || name == wanted;
    others.push_back(name);
  });
  if (found) return;
  if (others.empty())
    out.add(
        fmt::format("No Connect services in task group with Connect proxy ({})", quote(wanted)));
  else
    out.add(
        fmt::format("Connect proxy service name ({}) not found in Connect services from task "
                    "group: [{}]",
                    quote(wanted), fmt::join(others, " ")));
}

void check_volume_mounts(const DraftBlock& task, const DraftBlock& group, Mistakes& out) {
  const auto is_known = [&group](std::string_view name) {
    for (const DraftBlock entry : group.list("Volumes"))
      if (entry.text("Key") == name) return true;
    return false;
  };
  int position = 0;
  task.each("VolumeMounts", [&](const DraftBlock& mount) {
    const std::string_view mode = mount.text("PropagationMode");
    const std::string_view volume = mount.text("Volume");
    if (!mode.empty() && mode != "private" && mode != "host-to-task" && mode != "bidirectional")
      out.add(
          fmt::format("Volume Mount ({}) has an invalid propagation mode: \"{}\"", position, mode));
    if (volume.empty())
      out.add(fmt::format("Volume Mount ({}) references an empty volume", position));
    else if (!is_known(volume))
      out.add(fmt::format("Volume Mount ({}) references undefined volume {}", position, volume));
    ++position;
  });
}

void check_csi_plugin(const DraftBlock& task, Mistakes& out) {
  const DraftBlock plugin = task.child("CSIPluginConfig");
  if (!plugin) return;
  const std::string_view id = plugin.text("ID");
  const std::string_view type = plugin.text("Type");
  const std::string_view base = plugin.text("StagePublishBaseDir");
  const std::string_view mount = plugin.text("MountDir");
  if (id.empty())
    out.add("CSIPluginConfig must have a non-empty PluginID");
  else if (id.find('/') != std::string_view::npos || id == "." || id == "..")
    // The id becomes a directory on clients.
    out.add(fmt::format("CSIPluginConfig PluginID must not be a path, got: \"{}\"", id));
  if (type != "node" && type != "controller" && type != "monolith")
    out.add(
        fmt::format("CSIPluginConfig PluginType must be one of 'node', 'controller', or "
                    "'monolith', got: \"{}\"",
                    type));
  if (!base.empty() && !mount.empty() && base.starts_with(mount))
    out.add(
        fmt::format("CSIPluginConfig StagePublishBaseDir must not be a subdirectory of "
                    "MountDir, got: StagePublishBaseDir=\"{}\" MountDir=\"{}\"",
                    base, mount));
}

void check_change_mode(const DraftBlock& tmpl, Mistakes& out) {
  const std::string_view mode = tmpl.text("ChangeMode");
  if (mode == "noop" || mode == "restart") return;
  if (mode == "signal") {
    if (tmpl.text("ChangeSignal").empty())
      out.add("Must specify signal value when change mode is signal");
    if (tmpl.flag("Envvars")) out.add("cannot use signals with env var templates");
  } else if (mode == "script") {
    const DraftBlock script = tmpl.child("ChangeScript");
    if (!script)
      out.add("must specify change script configuration value when change mode is script");
    else if (script.text("Command").empty())
      out.add("must specify script path value when change mode is script");
  } else {
    out.add("Invalid change mode. Must be one of the following: noop, signal, script, restart");
  }
}

std::string check_hexadecimal(std::string_view text) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    const bool digit = is_hex_digit(c);
    if (digit) continue;
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 0x20 && byte < 0x7f
               ? fmt::format("encoding/hex: invalid byte: U+{:04X} '{}'", byte, c)
               : fmt::format("encoding/hex: invalid byte: U+{:04X}", byte);
  }
  return text.size() % 2 == 1 ? "encoding/hex: odd length hex string" : "";
}

/// What the fetcher would refuse on every node.
std::string check_checksum_file(std::string_view source) {
  if (source.empty()) return "checksum file has no source";
  const std::string lower = to_lower(source);
  std::string_view url = lower;
  const auto takes = [&url](std::string_view start) {
    const bool is_it = url.starts_with(start);
    if (is_it) url.remove_prefix(start.size());
    return is_it;
  };
  static_cast<void>(takes("http::") || takes("https::"));
  const bool is_known = takes("http://") || takes("https://");
  if (is_known && !url.empty() && url.front() != '/') return {};
  return "checksum file must be given by an http or https address; got " + quote(source);
}

/// "" or what is wrong with an artifact's checksum, "type:hexadecimal value", or "file:" and where
/// a file of checksums is. (Nomad refuses the latter here, and takes it in the source's query.)
std::string check_checksum(std::string_view given) {
  constexpr std::string_view blanks = " \t\n\v\f\r";
  if (has_reference(given)) return {};
  const std::size_t first = given.find_first_not_of(blanks);
  if (first == std::string_view::npos) return "checksum value cannot be empty";
  const std::string_view text = given.substr(first, given.find_last_not_of(blanks) - first + 1);
  if (text.starts_with("file:")) return check_checksum_file(trim(text.substr(5), blanks));
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos || text.find(':', colon + 1) != std::string_view::npos)
    return "checksum must be given as \"type:value\"; got " + quote(text);
  const std::string_view type = text.substr(0, colon);
  const std::string_view digits = text.substr(colon + 1);
  if (std::string wrong = check_hexadecimal(digits); !wrong.empty())
    return "invalid checksum: " + wrong;
  const std::size_t bytes = type == "md5"      ? 16
                            : type == "sha1"   ? 20
                            : type == "sha256" ? 32
                            : type == "sha512" ? 64
                                               : 0;
  if (bytes == 0) return fmt::format("unsupported checksum type: {}", type);
  if (digits.size() != bytes * 2) return fmt::format("invalid {} checksum: {}", type, digits);
  return {};
}

/// What is wrong with a template's text, with the line where it is.
std::optional<std::string> check_template_text(const DraftBlock& tmpl) {
  static const templates::Functions functions = templates::task_functions();
  const std::string_view data = tmpl.text("EmbeddedTmpl");
  const auto parsed = templates::TaskTemplate::parse(
      std::string{data}, functions,
      {.delimiters = {.left = std::string{tmpl.text("LeftDelim")},
                      .right = std::string{tmpl.text("RightDelim")}}});
  if (parsed) return std::nullopt;
  constexpr std::string_view location = "template: :";  // Go's "template: NAME:LINE:"
  std::string wrong = parsed.error().what;
  std::size_t line = 0;
  if (const auto at = wrong.find(location); at != std::string::npos)
    std::from_chars(wrong.data() + at + location.size(), wrong.data() + wrong.size(), line);
  std::string_view rest = data;
  for (std::size_t i = 1; i < line; ++i)
    rest.remove_prefix(std::min(rest.size(), rest.find('\n') + 1));
  constexpr std::size_t longest = 80;
  const auto excerpt = rest.substr(0, std::min(rest.find('\n'), longest));
  return line == 0 ? wrong : fmt::format("{}; line {} is {}", wrong, line, quote(excerpt));
}

}  // namespace

Mistakes check_template(const DraftBlock& tmpl) {
  Mistakes out;
  const std::string_view destination = tmpl.text("DestPath");
  if (tmpl.text("SourcePath").empty() && tmpl.text("EmbeddedTmpl").empty())
    out.add("Must specify a source path or have an embedded template");
  if (auto wrong = check_template_text(tmpl)) out.add(std::move(*wrong));
  if (destination.empty()) out.add("Must specify a destination for the template");
  if (escapes_allocation("task", destination)) out.add("destination escapes allocation directory");
  check_change_mode(tmpl, out);
  if (tmpl.number("Splay") < 0) out.add("Must specify positive splay value");
  if (const std::string_view perms = tmpl.text("Perms"); !perms.empty()) {
    std::uint64_t mode = 0;
    if (const std::string wrong = parse_unsigned(perms, 8, 12, mode); !wrong.empty())
      out.add(fmt::format("Failed to parse {} as octal: {}", quote(perms), wrong));
  }
  if (const DraftBlock wait = tmpl.child("Wait")) {
    const std::int64_t least = wait.number("Min");
    const std::int64_t most = wait.number("Max");
    if (wait.has("Min") && wait.has("Max") && least > most)
      out.add(fmt::format("wait min {} is greater than max {}", duration_text(least),
                          duration_text(most)));
  }
  return out;
}

Mistakes check_artifact(const DraftBlock& artifact) {
  Mistakes out;
  if (artifact.text("GetterSource").empty()) out.add("source must be specified");
  const std::string_view mode = artifact.text("GetterMode");
  if (!mode.empty() && mode != "any" && mode != "file" && mode != "dir")
    out.add(fmt::format("invalid artifact mode {}; must be one of: any, file, dir", quote(mode)));
  if (escapes_allocation("task", artifact.text("RelativeDest")))
    out.add("destination escapes allocation directory");
  if (const auto checksum = artifact.entry("GetterOptions", "checksum"))
    if (std::string wrong = check_checksum(*checksum); !wrong.empty()) out.add(std::move(wrong));
  return out;
}

Mistakes check_task(const DraftBlock& task,
                    std::string_view job_type,
                    const DraftBlock& group,
                    const ValidateOptions& options) {
  Mistakes out;
  check_name(task.text("Name"), out);
  if (task.text("Driver").empty()) out.add("Missing task driver");
  check_timing(task, job_type, group, out);
  if (const DraftBlock resources = task.child("Resources"))
    out.add_joined("", check_resources(resources));
  if (const DraftBlock logs = task.child("LogConfig"))
    out.add_joined("", check_logs(logs, group.child("EphemeralDisk")));
  check_task_constraints(task, out);
  check_affinities(task, job_type == "system", out);
  out.add_joined("", check_task_services(task, group, options));
  int position = 0;
  task.each("Artifacts", [&](const DraftBlock& artifact) {
    out.add_joined(fmt::format("Artifact {} validation failed: ", ++position),
                   check_artifact(artifact));
  });
  if (const DraftBlock vault = task.child("Vault"))
    out.add_joined("Vault validation failed: ", check_vault(vault));
  check_templates(task, out);
  check_actions(task, out);
  check_schedule(task, out);
  if (const DraftBlock payload = task.child("DispatchPayload");
      payload && escapes_allocation("task/local/", payload.text("File")))
    out.add("Dispatch Payload validation failed: destination escapes allocation directory");
  check_lifecycle(task, out);
  check_identities(task, out);
  check_connect_proxy(task, group, out);
  check_volume_mounts(task, group, out);
  check_csi_plugin(task, out);
  return out;
}

}  // namespace nomad::jobspec
