#include "runtime/network/network_record.hpp"

#include <boost/json.hpp>

namespace nomad::network {
namespace {

namespace json = boost::json;

PortMapping read_mapping(const json::object& from) {
  return {.host_port = json::value_to<int>(from.at("host")),
          .inside = json::value_to<int>(from.at("inside")),
          .protocol = json::value_to<std::string>(from.at("protocol")),
          .host_ip = json::value_to<std::string>(from.at("ip")),
          .label = json::value_to<std::string>(from.at("label"))};
}

NetworkRecord read(const json::object& from) {
  NetworkRecord record;
  record.network = {.name = json::value_to<std::string>(from.at("name")),
                    .version = json::value_to<std::string>(from.at("version")),
                    .disable_check = from.at("disableCheck").as_bool(),
                    .plugins = {}};
  for (const auto& each : from.at("plugins").as_array())
    record.network.plugins.push_back(
        {.type = json::value_to<std::string>(each.as_object().at("type")),
         .config = json::value_to<std::string>(each.as_object().at("config"))});
  for (const auto& each : from.at("mappings").as_array())
    record.mappings.push_back(read_mapping(each.as_object()));
  record.result = json::value_to<std::string>(from.at("result"));
  record.is_complete = from.at("complete").as_bool();
  return record;
}

}  // namespace

std::optional<NetworkStatus> NetworkRecord::status() const {
  if (!is_complete || result.empty()) return std::nullopt;
  const auto parsed = parse_cni_result(result);
  if (!parsed) return std::nullopt;
  auto found = status_of(*parsed);
  if (!found) return std::nullopt;
  return std::move(*found);
}

std::string to_text(const NetworkRecord& record) {
  json::array plugins, mappings;
  for (const auto& each : record.network.plugins)
    plugins.push_back(json::object{{"type", each.type}, {"config", each.config}});
  for (const auto& each : record.mappings)
    mappings.push_back(json::object{{"host", each.host_port},
                                    {"inside", each.inside},
                                    {"protocol", each.protocol},
                                    {"ip", each.host_ip},
                                    {"label", each.label}});
  return json::serialize(json::object{{"name", record.network.name},
                                      {"version", record.network.version},
                                      {"disableCheck", record.network.disable_check},
                                      {"plugins", std::move(plugins)},
                                      {"mappings", std::move(mappings)},
                                      {"result", record.result},
                                      {"complete", record.is_complete}});
}

Result<NetworkRecord> parse_record(std::string_view text) {
  json::error_code failure;
  const auto tree = json::parse(text, failure);
  if (!failure && tree.is_object()) {
    try {
      return read(tree.get_object());
    } catch (const std::exception& err) {  // Boost.JSON's: a member is missing or of another kind.
      return Error{Errc::corrupt, std::string{"the record of a network: "} + err.what()};
    }
  }
  return Error{Errc::corrupt, "the record of a network is no JSON object"};
}

}  // namespace nomad::network
