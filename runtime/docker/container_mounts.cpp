// What a container is shown of the host: binds, mounts, and what of them is not allowed.
#include <filesystem>

#include <boost/json/array.hpp>
#include <fmt/format.h>

#include "runtime/base/log.hpp"
#include "runtime/base/text.hpp"
#include "runtime/docker/container_body.hpp"
#include "runtime/docker/held_binds.hpp"

namespace nomad::docker {
namespace {

namespace fs = std::filesystem;

/// `path` as it is seen from the task's directory, without dots.
std::string expand(const std::string& base, const std::string& path) {
  const fs::path given{path};
  const auto whole = given.is_absolute() ? given : fs::path{base} / given;
  auto text = whole.lexically_normal().string();
  while (text.size() > 1 && text.ends_with('/'))
    text.pop_back();
  return text;
}

bool is_below(const std::string& root, const std::string& path) {
  return path == root || path.starts_with(root + '/');
}

/// Where `path`, which the job says lies in the allocation's directory, really leads. The engine
/// follows links, and a task can make some.
Result<std::string> inside(const ContainerSpec& spec,
                           const AgentSettings& agent,
                           const std::string& path,
                           std::size_t number,
                           bool makes_missing) {
  if (!spec.binds_location.empty()) {
    const auto target = fmt::format("{}/{}", spec.binds_location, number);
    const auto held = hold_bind(target, {spec.alloc_root, path, makes_missing}, agent.socket);
    if (!held && held.error().code == Errc::rejected)
      return held.error().within("volumes are not enabled; cannot mount " + quote(path));
    if (NOMAD_TRY(held)) return target;
    log::warn("client",
              "the engine can't be shown a mount of this agent: it is looked at and not held, so "
              "that the task may exchange it meanwhile",
              {{"driver", "docker"},
               {"alloc", fs::path{spec.alloc_root}.filename().native()},
               {"path", path}});
  }
  std::error_code failure;
  const auto root = fs::weakly_canonical(spec.alloc_root, failure);
  if (failure) return Error{Errc::io, fmt::format("{}: {}", spec.alloc_root, failure.message())};
  const auto real = fs::weakly_canonical(path, failure);
  if (failure) return Error{Errc::io, fmt::format("{}: {}", path, failure.message())};
  if (is_below(root.string(), real.string())) return real.string();
  return Error{Errc::rejected,
               fmt::format("volumes are not enabled; {} leads out of the allocation's directory",
                           quote(path))};
}

Result<std::string> bind_source(const ContainerSpec& spec,
                                const AgentSettings& agent,
                                const std::string& volume,
                                const std::string& source,
                                std::size_t number) {
  const auto path = expand(spec.task_directory, source);
  if (agent.allows_volumes) return path;
  if (!is_below(spec.alloc_root, path))
    return Error{Errc::rejected,
                 "volumes are not enabled; cannot mount host paths: " + quote(volume)};
  return inside(spec, agent, path, number, /*makes_missing=*/true);
}

std::string_view engine_propagation(std::string_view ours) {
  if (ours == "host-to-task") return "rslave";
  if (ours == "bidirectional") return "rshared";
  return "rprivate";
}

boost::json::object texts_object(const Texts& from) {
  boost::json::object to;
  for (const auto& [name, value] : from)
    to[name] = value;
  return to;
}

Result<boost::json::object> one_mount(const ContainerSpec& spec,
                                      const AgentSettings& agent,
                                      const MountSetting& mount,
                                      std::size_t number) {
  boost::json::object to{{"Type", mount.type}, {"Target", mount.target}};
  if (mount.read_only) to["ReadOnly"] = true;
  if (mount.type == "tmpfs") {
    boost::json::object options;
    if (mount.tmpfs_bytes > 0) options["SizeBytes"] = mount.tmpfs_bytes;
    if (mount.tmpfs_mode > 0) options["Mode"] = mount.tmpfs_mode;
    to["TmpfsOptions"] = std::move(options);
    return to;
  }
  if (mount.type == "bind") {
    auto source = expand(spec.task_directory, mount.source);
    if (!agent.allows_volumes) {
      if (!is_below(spec.alloc_root, source))
        return Error{Errc::rejected,
                     fmt::format("volumes are not enabled; cannot mount host path: {} {}",
                                 quote(source), quote(spec.alloc_root))};
      source = NOMAD_TRY(inside(spec, agent, source, number, /*makes_missing=*/false));
    }
    to["Source"] = source;
    if (!mount.propagation.empty())
      to["BindOptions"] = boost::json::object{{"Propagation", mount.propagation}};
    return to;
  }
  if (!agent.allows_volumes)
    return Error{Errc::rejected,
                 "volumes are not enabled; cannot mount volume: " + quote(mount.source)};
  to["Source"] = mount.source;
  boost::json::object options;
  if (mount.no_copy) options["NoCopy"] = true;
  if (!mount.volume_labels.empty()) options["Labels"] = texts_object(mount.volume_labels);
  if (!mount.volume_driver.empty() || !mount.volume_options.empty())
    options["DriverConfig"] = boost::json::object{{"Name", mount.volume_driver},
                                                  {"Options", texts_object(mount.volume_options)}};
  to["VolumeOptions"] = std::move(options);
  return to;
}

}  // namespace

Result<std::vector<std::string>> container_binds(const ContainerSpec& spec,
                                                 const AgentSettings& agent) {
  const auto& task = spec.settings;
  std::vector<std::string> binds{spec.alloc_root + "/alloc:/alloc",
                                 spec.task_directory + "/local:/local",
                                 spec.task_directory + "/secrets:/secrets"};
  if (!task.volume_driver.empty() && !agent.allows_volumes)
    return Error{Errc::rejected, fmt::format("volumes are not enabled; cannot use volume driver {}",
                                             quote(task.volume_driver))};
  std::size_t number = 0;
  for (const auto& volume : task.volumes) {
    const auto parts = split(volume, ':');
    if (parts.size() < 2)
      return Error{
          Errc::invalid_argument,
          fmt::format("invalid docker volume {}: not <src>:<destination> format", quote(volume))};
    std::string source{parts[0]};
    if (task.volume_driver.empty())
      source = NOMAD_TRY(bind_source(spec, agent, volume, source, number++));
    auto bind = fmt::format("{}:{}", source, parts[1]);
    if (parts.size() > 2 && !parts[2].empty()) bind += fmt::format(":{}", parts[2]);
    binds.push_back(std::move(bind));
  }
  if (!agent.selinux_label.empty())
    for (auto& bind : binds)
      bind += ':' + agent.selinux_label;
  return binds;
}

Result<boost::json::array> container_mounts(const ContainerSpec& spec, const AgentSettings& agent) {
  boost::json::array mounts;
  auto number = spec.settings.volumes.size();
  for (const auto& mount : spec.settings.mounts)
    mounts.push_back(NOMAD_TRY(one_mount(spec, agent, mount, number++)));
  for (const auto& mount : spec.mounts)
    mounts.push_back(boost::json::object{
        {"Type", "bind"},
        {"Target", mount.task_path},
        {"Source", mount.host_path},
        {"ReadOnly", mount.read_only},
        {"BindOptions",
         boost::json::object{{"Propagation", engine_propagation(mount.propagation)}}}});
  return mounts;
}

}  // namespace nomad::docker
