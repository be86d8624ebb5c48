#include "cli/volume/volume_file.hpp"

#include <array>
#include <charconv>
#include <cmath>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "cli/kinds/specification.hpp"
#include "runtime/config/config_file.hpp"

namespace nomad::cli {
namespace {

using Object = boost::json::object;
using Value = boost::json::value;

Error bad_volume(std::string what) {
  return {Errc::invalid_argument, std::move(what)};
}

Result<> make_texts_of(Object& volume, std::string_view name) {
  auto* map = volume.if_contains({name.data(), name.size()});
  if (map == nullptr) return {};
  if (!map->is_object()) return bad_volume(fmt::format("{}: expected a block", name));
  for (auto& entry : map->get_object())
    if (!entry.value().is_string()) entry.value() = boost::json::serialize(entry.value());
  return {};
}

Result<> make_bytes(Object& volume, std::string_view name) {
  auto* amount = volume.if_contains({name.data(), name.size()});
  if (amount == nullptr || !amount->is_string()) return {};
  *amount = NOMAD_TRY(parse_bytes(std::string{amount->get_string()}).within(std::string{name}));
  return {};
}

Result<> make_capabilities(Object& volume) {
  auto* blocks = volume.if_contains("RequestedCapabilities");
  if (blocks == nullptr) return {};
  if (!blocks->is_array()) return bad_volume("capability: expected a block");
  for (auto& block : blocks->get_array()) {
    if (!block.is_object()) return bad_volume("capability: expected a block");
    block = NOMAD_TRY(cli::renamed(block.get_object(), {{"access_mode", "AccessMode"},
                                                        {"attachment_mode", "AttachmentMode"}})
                          .within("capability"));
  }
  return {};
}

Result<> make_mount_options(Object& volume) {
  auto* block = volume.if_contains("MountOptions");
  if (block == nullptr) return {};
  if (!block->is_object()) return bad_volume("mount_options: expected a block");
  *block = NOMAD_TRY(
      cli::renamed(block->get_object(), {{"fs_type", "FSType"}, {"mount_flags", "MountFlags"}})
          .within("mount_options"));
  return {};
}

/// required { topology { segments { … } } … }
Result<boost::json::array> topologies_of(const Value& block, std::string_view name) {
  if (!block.is_object()) return bad_volume(fmt::format("{}: expected a block", name));
  boost::json::array topologies;
  const auto* all = block.get_object().if_contains("topology");
  if (all == nullptr || !all->is_array()) return topologies;
  for (const auto& one : all->get_array()) {
    if (!one.is_object()) return bad_volume("topology: expected a block");
    auto topology
        = NOMAD_TRY(cli::renamed(one.get_object(), {{"segments", "Segments"}}).within("topology"));
    NOMAD_TRY(make_texts_of(topology, "Segments"));
    topologies.emplace_back(std::move(topology));
  }
  return topologies;
}

Result<Object> request_of(const Value& block) {
  if (!block.is_object()) return bad_volume("topology_request: expected a block");
  Object request;
  for (const auto& [name, member] :
       {std::pair{"required", "Required"}, std::pair{"preferred", "Preferred"}})
    if (const auto* part = block.get_object().if_contains(name))
      request[member] = NOMAD_TRY(topologies_of(*part, name));
  return request;
}

}  // namespace

Result<std::int64_t> parse_bytes(std::string_view text) {
  struct Unit {
    std::string_view name;
    double bytes;
  };

  constexpr std::array units = std::to_array<Unit>({{"", 1},
                                                    {"b", 1},
                                                    {"kb", 1e3},
                                                    {"k", 1e3},
                                                    {"mb", 1e6},
                                                    {"m", 1e6},
                                                    {"gb", 1e9},
                                                    {"g", 1e9},
                                                    {"tb", 1e12},
                                                    {"t", 1e12},
                                                    {"pb", 1e15},
                                                    {"kib", 1024.0},
                                                    {"mib", 1048576.0},
                                                    {"gib", 1073741824.0},
                                                    {"tib", 1099511627776.0},
                                                    {"pib", 1125899906842624.0}});
  double number = 0;
  const auto [rest, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  std::string unit;
  for (const char* c = rest; c != text.data() + text.size(); ++c)
    if (*c != ' ') unit += *c >= 'A' && *c <= 'Z' ? static_cast<char>(*c - 'A' + 'a') : *c;
  if (failure == std::errc{} && number >= 0)
    for (const auto& known : units)
      if (known.name == unit && number * known.bytes < 9e18)
        return static_cast<std::int64_t>(std::llround(number * known.bytes));
  return bad_volume(fmt::format("\"{}\" is no size: write it as \"10GiB\" or in bytes", text));
}

Result<Object> volume_of_file(const std::string& file, std::string text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first != std::string::npos && text[first] == '{') {
    auto json = NOMAD_TRY(object_of_json(text));
    if (json.contains("ID") || json.contains("PluginID")) return json;
  }
  // What is a list is no block that others are merged into; of these there are two.
  const auto by_capability = NOMAD_TRY(config::parse_config_text(file, text, "capability"));
  auto volume
      = NOMAD_TRY(cli::renamed(by_capability.tree, {{"id", "ID"},
                                                    {"name", "Name"},
                                                    {"type", "Type"},
                                                    {"plugin_id", "PluginID"},
                                                    {"external_id", "ExternalID"},
                                                    {"namespace", "Namespace"},
                                                    {"capacity_min", "RequestedCapacityMin"},
                                                    {"capacity_max", "RequestedCapacityMax"},
                                                    {"capability", "RequestedCapabilities"},
                                                    {"mount_options", "MountOptions"},
                                                    {"topology_request", "RequestedTopologies"},
                                                    {"secrets", "Secrets"},
                                                    {"parameters", "Parameters"},
                                                    {"context", "Context"},
                                                    {"snapshot_id", "SnapshotID"},
                                                    {"clone_id", "CloneID"}}));
  const auto* type = volume.if_contains("Type");
  if (type != nullptr && *type != "csi")
    return bad_volume(fmt::format("Error unknown volume type: {}",
                                  type->is_string() ? std::string{type->get_string()} : "no text"));
  volume.erase("Type");
  if (volume.contains("RequestedTopologies")) {
    const auto by_topology = NOMAD_TRY(config::parse_config_text(file, text, "topology"));
    volume["RequestedTopologies"] = NOMAD_TRY(request_of(by_topology.tree.at("topology_request")));
  }
  NOMAD_TRY(make_capabilities(volume));
  NOMAD_TRY(make_mount_options(volume));
  for (const auto* map : {"Secrets", "Parameters", "Context"})
    NOMAD_TRY(make_texts_of(volume, map));
  for (const auto* amount : {"RequestedCapacityMin", "RequestedCapacityMax"})
    NOMAD_TRY(make_bytes(volume, amount));
  return volume;
}

Result<Object> pairs_of(const std::vector<std::string>& given, std::string_view flag) {
  Object pairs;
  for (const auto& one : given) {
    const auto equals = one.find('=');
    if (equals == std::string::npos || equals == 0)
      return bad_volume(fmt::format("-{} must be key=value: \"{}\"", flag,
                                    one.substr(0, std::min<std::size_t>(equals, one.size()))));
    pairs[one.substr(0, equals)] = one.substr(equals + 1);
  }
  return pairs;
}

Result<std::string> secrets_header(const std::vector<std::string>& given) {
  const auto pairs = NOMAD_TRY(pairs_of(given, "secret"));
  std::string header;
  for (const auto& entry : pairs) {
    const std::string value{entry.value().get_string()};
    if (value.find_first_of(",\r\n") != std::string::npos)
      return bad_volume("a secret with a comma or a line break can't be given on the command line");
    header.append(header.empty() ? "" : ",").append(entry.key()).append("=").append(value);
  }
  return header;
}

}  // namespace nomad::cli
