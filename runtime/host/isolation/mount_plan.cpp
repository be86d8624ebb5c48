#include "runtime/host/isolation/mount_plan.hpp"

#include <algorithm>
#include <filesystem>
#include <string_view>

#include <sys/mount.h>

#include "runtime/base/sorting/sort_stably.hpp"

namespace nomad::host {

namespace {

using Kind = PlannedMount::Kind;

constexpr std::uint64_t plain = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC;

/// Whether `path` is `directory` or lies in it.
bool is_within(std::string_view path, std::string_view directory) {
  if (directory == "/") return true;
  return path.starts_with(directory)
         && (path.size() == directory.size() || path[directory.size()] == '/');
}

std::string below(const std::string& directory, std::string_view rest) {
  return (directory == "/" ? std::string{} : directory) + std::string{rest};
}

PlannedMount bound(std::string target, std::string source, std::uint64_t attributes) {
  return {.kind = Kind::bind,
          .target = std::move(target),
          .source = std::move(source),
          .attributes = attributes,
          .propagation = MS_PRIVATE};
}

PlannedMount made(std::string target,
                  std::string type,
                  std::vector<std::string> options,
                  std::uint64_t attributes) {
  return {.kind = Kind::fresh,
          .target = std::move(target),
          .source = std::move(type),
          .options = std::move(options),
          .attributes = attributes};
}

PlannedMount linked(std::string target, std::string text) {
  return {.kind = Kind::link, .target = std::move(target), .source = std::move(text)};
}

PlannedMount of_kind(Kind kind, std::string target) {
  return {.kind = kind, .target = std::move(target)};
}

/// These would have to be escaped in the options of an overlay.
bool suits_overlay(std::string_view path) {
  return path.find_first_of(",:\\") == path.npos;
}

Result<std::uint64_t> propagation_of(const std::string& name) {
  if (name.empty() || name == "private") return MS_PRIVATE;
  if (name == "host-to-task") return MS_SLAVE;
  if (name == "bidirectional") return MS_SHARED;
  return Error{Errc::invalid_argument, "propagation mode \"" + name
                                           + "\" is not \"private\", \"host-to-task\" or "
                                             "\"bidirectional\""};
}

class Planner {
public:
  explicit Planner(const MountInput& input) : input_{input} {}

  Result<std::vector<PlannedMount>> plan() {
    plan_chroot();
    add(bound("/alloc", input_.alloc_directory, root_attributes(input_.allow_set_user_id)));
    plan_devices();
    add(made("/proc", "proc", {}, plain));
    add(made("/sys", "sysfs", {}, plain | MOUNT_ATTR_RDONLY));
    for (const auto& device : input_.devices)
      add(bound(task_path(device.task_path), device.host_path,
                MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC));
    for (const auto& volume : input_.volumes)
      NOMAD_TRY(plan_volume(volume));
    plan_masks();
    return std::move(steps_);
  }

private:
  void add(PlannedMount step) { steps_.push_back(std::move(step)); }

  /// What there is of the host, the outer before the inner.
  void plan_chroot() {
    std::vector<ChrootEntry> entries;
    for (const auto& entry : input_.chroot)
      if (entry.kind != ChrootEntry::Kind::absent && !is_hidden(entry.real))
        entries.push_back(entry);
    sort_stably(entries, {}, &ChrootEntry::target);
    for (const auto& entry : entries)
      plan_entry(entry, entries);
    for (const auto& entry : entries)
      hide_below(entry);
  }

  bool is_hidden(const std::string& source) const {
    return std::ranges::any_of(
        input_.hidden, [&](const std::string& hidden) { return is_within(source, hidden); });
  }

  void plan_entry(const ChrootEntry& entry, const std::vector<ChrootEntry>& all) {
    if (const auto text = link_text(entry, all); !text.empty() && !entry.is_taken)
      return add(linked(entry.target, text));
    const auto attributes = root_attributes(input_.allow_set_user_id);
    // An overlay can't be above a directory that has its own upper one in it.
    if (entry.kind == ChrootEntry::Kind::file || !input_.use_overlays
        || !suits_overlay(entry.source) || holds_hidden(entry))
      return add(bound(entry.target, entry.source, attributes | MOUNT_ATTR_RDONLY));
    add({.kind = Kind::overlay,
         .target = entry.target,
         .source = entry.source,
         .attributes = attributes,
         .propagation = MS_PRIVATE,
         .work = input_.work_directory + '/' + std::to_string(overlays_++)});
  }

  /// Of a link of the host to a location that the task sees, too (/bin to /usr/bin): what a link in
  /// the task has to say; else empty. It saves a mount.
  static std::string link_text(const ChrootEntry& entry, const std::vector<ChrootEntry>& all) {
    if (entry.real == entry.source) return {};
    for (const auto& other : all)
      if (other.kind == ChrootEntry::Kind::directory && other.real == other.source
          && is_within(entry.real, other.source)) {
        const auto end = below(other.target, std::string_view{entry.real}.substr(
                                                 other.source == "/" ? 0 : other.source.size()));
        // Relative, so that it leads out of the task's directory for nobody.
        return std::filesystem::path{end}.lexically_relative(
            std::filesystem::path{entry.target}.parent_path());
      }
    return {};
  }

  bool holds_hidden(const ChrootEntry& entry) const {
    return std::ranges::any_of(
        input_.hidden, [&](const std::string& hidden) { return is_within(hidden, entry.real); });
  }

  void hide_below(const ChrootEntry& entry) {
    for (const auto& hidden : input_.hidden)
      if (entry.kind == ChrootEntry::Kind::directory && is_within(hidden, entry.real))
        add(of_kind(Kind::mask,
                    below(entry.target, std::string_view{hidden}.substr(
                                            entry.real == "/" ? 0 : entry.real.size()))));
  }

  /// Nodes are the host's, each mounted by itself: so the directory can be without devices, and
  /// what tasks make there by mknod(2) can't be opened.
  void plan_devices() {
    add(made("/dev", "tmpfs", {"mode=755", "size=1m"}, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV));
    for (const char* name : {"null", "zero", "full", "random", "urandom", "tty"}) {
      const auto path = "/dev/" + std::string{name};
      add(bound(path, path, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC));
    }
    add(made("/dev/pts", "devpts", {"newinstance", "ptmxmode=0666", "mode=0620", "gid=5"},
             MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC));
    add(made("/dev/shm", "tmpfs", {"mode=1777", "size=65536k"}, plain));
    add(made("/dev/mqueue", "mqueue", {}, plain));
    for (const auto& [name, text] :
         {std::pair{"ptmx", "pts/ptmx"}, std::pair{"fd", "/proc/self/fd"},
          std::pair{"stdin", "/proc/self/fd/0"}, std::pair{"stdout", "/proc/self/fd/1"},
          std::pair{"stderr", "/proc/self/fd/2"}})
      add(linked("/dev/" + std::string{name}, text));
  }

  Result<> plan_volume(const VolumeMount& volume) {
    auto step
        = bound(task_path(volume.task_path), volume.host_path,
                MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | (volume.read_only ? MOUNT_ATTR_RDONLY : 0));
    step.propagation = NOMAD_TRY(propagation_of(volume.propagation));
    add(std::move(step));
    return {};
  }

  void plan_masks() {
    for (const char* path : {"/private", "/proc/acpi", "/proc/kcore", "/proc/keys",
                             "/proc/latency_stats", "/proc/timer_list", "/proc/timer_stats",
                             "/proc/sched_debug", "/proc/scsi", "/sys/firmware"})
      add(of_kind(Kind::mask, path));
    for (const char* path :
         {"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"})
      add(of_kind(Kind::read_only, path));
  }

  const MountInput& input_;
  std::vector<PlannedMount> steps_;
  unsigned overlays_ = 0;
};

}  // namespace

const std::map<std::string, std::string>& default_chroot_env() {
  static const std::map<std::string, std::string> entries{
      {"/bin", "/bin"},
      {"/etc", "/etc"},
      {"/lib", "/lib"},
      {"/lib32", "/lib32"},
      {"/lib64", "/lib64"},
      {"/run/resolvconf", "/run/resolvconf"},
      {"/run/systemd/resolve", "/run/systemd/resolve"},
      {"/sbin", "/sbin"},
      {"/usr", "/usr"}};
  return entries;
}

std::string task_path(const std::string& path) {
  auto normal = std::filesystem::path{"/" + path}.lexically_normal().string();
  if (normal.starts_with("//")) normal.erase(0, 1);
  while (normal.size() > 1 && normal.ends_with('/'))
    normal.pop_back();
  return normal;
}

std::vector<std::string> program_locations(const std::string& command) {
  if (command.empty()) return {};
  std::vector<std::string> locations{task_path("local/" + command), task_path(command)};
  if (command.find('/') == command.npos)
    for (const char* directory : {"usr/local/bin/", "usr/bin/", "bin/"})
      locations.push_back(task_path(directory + command));
  return locations;
}

std::uint64_t root_attributes(bool allow_set_user_id) {
  return MOUNT_ATTR_NODEV | (allow_set_user_id ? 0 : MOUNT_ATTR_NOSUID);
}

Result<std::vector<PlannedMount>> plan_mounts(const MountInput& input) {
  return Planner{input}.plan();
}

}  // namespace nomad::host
