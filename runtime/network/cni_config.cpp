#include "runtime/network/cni_config.hpp"

#include <algorithm>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "runtime/base/text.hpp"

namespace nomad::network {
namespace {

Error malformed(std::string what) {
  return {Errc::invalid_argument, std::move(what)};
}

std::string text_in(const boost::json::object& object, std::string_view name) {
  const auto* value = object.if_contains(name);
  if (value == nullptr || !value->is_string()) return {};
  return std::string{value->get_string()};
}

Result<CniPlugin> read_plugin(const boost::json::value& value) {
  const auto* object = value.if_object();
  if (object == nullptr) return malformed("a plugin is no object");
  CniPlugin plugin{.type = text_in(*object, "type"), .config = boost::json::serialize(value)};
  if (plugin.type.empty()) return malformed("a plugin has no \"type\"");
  if (plugin.type.find('/') != plugin.type.npos)
    return malformed(fmt::format("the plugin's type {} is a path; it is the name of a program",
                                 quote(plugin.type)));
  return plugin;
}

/// "0.4.0" is at least version 0.4.
bool is_at_least_0_4(std::string_view version) {
  return !version.empty() && !version.starts_with("0.1") && !version.starts_with("0.2")
         && !version.starts_with("0.3");
}

}  // namespace

bool CniNetwork::can_check() const {
  return !disable_check && is_at_least_0_4(version);
}

Result<CniNetwork> parse_cni_network(std::string_view text, bool is_list) {
  boost::json::error_code failure;
  const auto tree = boost::json::parse(text, failure);
  if (failure) return malformed("no JSON: " + failure.message());
  const auto* object = tree.if_object();
  if (object == nullptr) return malformed("it is no JSON object");
  CniNetwork network{.name = text_in(*object, "name"), .plugins = {}};
  if (network.name.empty()) return malformed("it has no \"name\"");
  // Without one it is of the first version of the specification.
  network.version = text_in(*object, "cniVersion");
  if (network.version.empty()) network.version = "0.1.0";
  if (const auto* value = object->if_contains("disableCheck"); value != nullptr)
    network.disable_check = value->is_bool() ? value->get_bool() : *value == "true";
  if (!is_list) {
    network.plugins.push_back(NOMAD_TRY(read_plugin(tree)));
    return network;
  }
  const auto* plugins = object->if_contains("plugins");
  if (plugins == nullptr || !plugins->is_array() || plugins->get_array().empty())
    return malformed("it lists no \"plugins\"");
  for (const auto& each : plugins->get_array())
    network.plugins.push_back(NOMAD_TRY(read_plugin(each)));
  return network;
}

bool is_cni_config(std::string_view file_name) {
  return file_name.ends_with(".conf") || file_name.ends_with(".conflist")
         || file_name.ends_with(".json");
}

Result<CniNetwork> find_cni_network(std::vector<std::pair<std::string, std::string>> files,
                                    std::string_view name,
                                    std::string_view directory) {
  std::ranges::sort(files);
  for (const auto& [file, content] : files) {
    auto network = parse_cni_network(content, file.ends_with(".conflist"));
    if (!network) return network.error().within(fmt::format("{}/{}", directory, file));
    if (network->name == name) return network;
  }
  return Error{Errc::not_found,
               fmt::format("CNI network config not found for name {} in {}; client.cni_config_dir "
                           "says where they are",
                           quote(name), directory)};
}

std::string bridge_config(const BridgeOptions& options) {
  using boost::json::array;
  using boost::json::object;
  // In braces a list of one would be taken for the one.
  const auto list_of = [](boost::json::value one) {
    array list;
    list.push_back(std::move(one));
    return list;
  };
  const object ipam{
      {"type", "host-local"},
      {"ranges", list_of(list_of(object{{"subnet", options.subnet}}))},
      {"routes", list_of(object{{"dst", "0.0.0.0/0"}})},
  };
  return boost::json::serialize(object{
      {"cniVersion", "0.4.0"},
      {"name", "nomad"},
      {"plugins", array{object{{"type", "loopback"}},
                        object{{"type", "bridge"},
                               {"bridge", options.name},
                               {"ipMasq", true},
                               {"isGateway", true},
                               {"forceAddress", true},
                               {"hairpinMode", options.hairpin_mode},
                               {"ipam", ipam}},
                        object{{"type", "firewall"},
                               {"backend", "iptables"},
                               {"iptablesAdminChainName", admin_chain}},
                        object{{"type", "portmap"},
                               {"capabilities", object{{"portMappings", true}}},
                               {"snat", true}}}},
  });
}

}  // namespace nomad::network
