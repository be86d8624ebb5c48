#include "runtime/plugin/found_devices.hpp"

#include <set>
#include <tuple>

#include <fmt/format.h>

#include "runtime/object/draft.hpp"
#include "runtime/object/json_codec.hpp"
#include "runtime/plugin/said.hpp"
#include "runtime/scheduler/placement/device_attribute.hpp"

namespace nomad::plugin {
namespace {

Error no_devices(std::string why) {
  return {Errc::invalid_argument, std::move(why)};
}

/// Names are parts of what jobs ask for, "vendor/type/name".
bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= most_name_of_bytes && said(text) == text
         && text.find('/') == std::string_view::npos;
}

Result<std::string> read_attributes(capnp::List<schema::TextEntry>::Reader attributes) {
  if (attributes.size() == 0) return std::string{};
  std::string json = "{";
  for (const auto& [name, value] : NOMAD_TRY(read_facts(attributes))) {
    if (json.size() > 1) json += ',';
    append_json_text(json, name);
    json += ':' + scheduler::DeviceAttribute::parse(value).json();
  }
  return json + '}';
}

}  // namespace

Result<std::vector<host::DeviceGroup>> read_devices(
    capnp::List<schema::plugin::DeviceGroup>::Reader groups) {
  if (groups.size() > most_device_groups)
    return no_devices(
        fmt::format("it has found more than {} groups of devices", most_device_groups));
  std::vector<host::DeviceGroup> made;
  std::set<std::tuple<std::string, std::string, std::string>> names;
  unsigned count = 0;
  for (const auto group : groups) {
    for (const auto name : {view(group.getVendor()), view(group.getType()), view(group.getName())})
      if (!is_name(name))
        return no_devices(
            fmt::format("a group of devices has \"{}\" for a vendor, type or name: "
                        "expected 1 to {} bytes that can be shown, without a slash",
                        said(name, most_name_of_bytes), most_name_of_bytes));
    auto& to = made.emplace_back(host::DeviceGroup{.vendor = copy(group.getVendor()),
                                                   .type = copy(group.getType()),
                                                   .name = copy(group.getName())});
    const auto title = fmt::format("{}/{}/{}", to.vendor, to.type, to.name);
    if (!names.emplace(to.vendor, to.type, to.name).second)
      return no_devices(fmt::format("it has found {} twice", title));
    to.attributes = NOMAD_TRY(read_attributes(group.getAttributes()).within(title));
    std::set<std::string_view> ids;
    for (const auto instance : group.getInstances()) {
      const auto id = view(instance.getId());
      if (id.empty() || id.size() > most_name_of_bytes || said(id) != id)
        return no_devices(
            fmt::format("a device of {} has the id \"{}\": expected 1 to {} bytes "
                        "that can be shown",
                        title, said(id, most_name_of_bytes), most_name_of_bytes));
      if (!ids.insert(id).second)
        return no_devices(fmt::format("two devices of {} have the id \"{}\"", title, id));
      if (++count > most_devices)
        return no_devices(fmt::format("it has found more than {} devices", most_devices));
      to.instances.push_back(
          {.id = std::string{id},
           .healthy = instance.getHealthy(),
           .health_description = said(view(instance.getHealthDescription()), most_name_of_bytes)});
    }
  }
  return made;
}

}  // namespace nomad::plugin
