#include "runtime/network/cni_call.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "runtime/base/ip_network.hpp"
#include "runtime/base/text.hpp"
#include "runtime/host/process/run_program.hpp"

namespace nomad::network {
namespace {

Error bad(std::string what) {
  return {Errc::invalid_argument, std::move(what)};
}

std::string text_of(const boost::json::object& object, std::string_view name) {
  const auto* value = object.if_contains(name);
  if (value == nullptr || !value->is_string()) return {};
  return std::string{value->get_string()};
}

std::vector<std::string> texts_of(const boost::json::object& object, std::string_view name) {
  std::vector<std::string> texts;
  if (const auto* list = object.if_contains(name); list != nullptr && list->is_array())
    for (const auto& each : list->get_array())
      if (each.is_string()) texts.emplace_back(each.get_string());
  return texts;
}

boost::json::array to_json(const std::vector<PortMapping>& mappings) {
  boost::json::array list;
  for (const auto& each : mappings) {
    boost::json::object one{
        {"hostPort", each.host_port}, {"containerPort", each.inside}, {"protocol", each.protocol}};
    if (!each.host_ip.empty()) one["hostIP"] = each.host_ip;
    list.push_back(std::move(one));
  }
  return list;
}

bool has_capability(const boost::json::object& config, std::string_view name) {
  const auto* capabilities = config.if_contains("capabilities");
  if (capabilities == nullptr || !capabilities->is_object()) return false;
  const auto* one = capabilities->get_object().if_contains(name);
  return one != nullptr && one->is_bool() && one->get_bool();
}

/// "172.26.64.2/20" without what stands behind the slash; empty if it is no address.
std::string address_in(std::string_view cidr) {
  std::string address{cidr.substr(0, cidr.find('/'))};
  return is_ip_address(address) ? address : std::string{};
}

/// Version 0.3.0 and later.
Result<> read_lists(const boost::json::object& from, CniResult& into) {
  if (const auto* list = from.if_contains("interfaces"); list != nullptr && list->is_array())
    for (const auto& each : list->get_array()) {
      if (!each.is_object()) return bad("an interface is no object");
      const auto& one = each.get_object();
      into.interfaces.push_back(
          {text_of(one, "name"), text_of(one, "mac"), text_of(one, "sandbox")});
    }
  const auto* list = from.if_contains("ips");
  if (list == nullptr || !list->is_array()) return {};
  for (const auto& each : list->get_array()) {
    if (!each.is_object()) return bad("an address is no object");
    const auto& one = each.get_object();
    CniAddress address{.address = address_in(text_of(one, "address"))};
    if (address.address.empty())
      return bad(fmt::format("{} is no address", quote(text_of(one, "address"))));
    if (const auto* index = one.if_contains("interface"); index != nullptr && !index->is_null()) {
      boost::json::error_code failure;
      const auto at = index->to_number<std::int64_t>(failure);
      if (failure || at < 0 || static_cast<std::size_t>(at) >= into.interfaces.size())
        return bad(
            fmt::format("the address {} is of an interface that is not listed", address.address));
      address.interface = static_cast<std::size_t>(at);
    }
    into.addresses.push_back(std::move(address));
  }
  return {};
}

/// Versions 0.1.0 and 0.2.0 have one address of each family.
Result<> read_families(const boost::json::object& from, CniResult& into) {
  for (const auto* family : {"ip4", "ip6"}) {
    const auto* value = from.if_contains(family);
    if (value == nullptr || !value->is_object()) continue;
    auto address = address_in(text_of(value->get_object(), "ip"));
    if (address.empty()) return bad(fmt::format("\"{}\" has no address", family));
    into.addresses.push_back({.address = std::move(address)});
  }
  return {};
}

/// Codes of the specification after which another try may do: an input or output failed, and "try
/// again later".
constexpr std::array<std::int64_t, 2> passing_codes{5, 11};
constexpr std::int64_t last_reserved_code = 99;

}  // namespace

std::string_view to_string(CniVerb verb) {
  switch (verb) {
    case CniVerb::add:
      return "ADD";
    case CniVerb::check:
      return "CHECK";
    case CniVerb::del:
      return "DEL";
  }
  return {};
}

std::vector<std::string> cni_environment(CniVerb verb,
                                         const CniTarget& target,
                                         std::string_view plugin_path) {
  std::string arguments = "IgnoreUnknown=1";
  if (!target.wanted_ip.empty() && verb == CniVerb::add) arguments += ";IP=" + target.wanted_ip;
  return {fmt::format("CNI_COMMAND={}", to_string(verb)),
          fmt::format("CNI_CONTAINERID={}", target.container_id),
          fmt::format("CNI_NETNS={}", target.namespace_path),
          fmt::format("CNI_IFNAME={}", target.interface),
          fmt::format("CNI_ARGS={}", arguments),
          fmt::format("CNI_PATH={}", plugin_path),
          fmt::format("PATH={}", host::system_path)};
}

Result<std::string> cni_input(const CniNetwork& network,
                              const CniPlugin& plugin,
                              const std::vector<PortMapping>& mappings,
                              std::string_view previous) {
  boost::json::error_code failure;
  auto tree = boost::json::parse(plugin.config, failure);
  if (failure || !tree.is_object())
    return bad(fmt::format("the configuration of the plugin {} is no JSON object", plugin.type));
  auto& config = tree.get_object();
  config["name"] = network.name;
  config["cniVersion"] = network.version;
  if (has_capability(config, "portMappings") && !mappings.empty()) {
    auto& runtime = config["runtimeConfig"];
    if (!runtime.is_object()) runtime = boost::json::object{};
    runtime.get_object()["portMappings"] = to_json(mappings);
  }
  config.erase("capabilities");
  if (!previous.empty()) {
    config["prevResult"] = boost::json::parse(previous, failure);
    if (failure) return bad("the result of the plugins before it is no JSON");
  }
  return boost::json::serialize(tree);
}

Result<CniResult> parse_cni_result(std::string_view text) {
  boost::json::error_code failure;
  const auto tree = boost::json::parse(text, failure);
  if (failure) return bad("the result is no JSON: " + failure.message());
  if (!tree.is_object()) return bad("the result is no JSON object");
  const auto& object = tree.get_object();
  CniResult result;
  NOMAD_TRY(read_lists(object, result));
  NOMAD_TRY(read_families(object, result));
  if (const auto* dns = object.if_contains("dns"); dns != nullptr && dns->is_object()) {
    result.dns_servers = texts_of(dns->get_object(), "nameservers");
    result.dns_searches = texts_of(dns->get_object(), "search");
    result.dns_options = texts_of(dns->get_object(), "options");
  }
  return result;
}

Result<NetworkStatus> status_of(const CniResult& result) {
  struct Found {
    std::string address;
    bool in_sandbox = false;
  };

  std::map<std::string, Found> found;
  for (const auto& each : result.addresses) {
    const CniInterface whole{.name = "eth0", .mac = {}, .sandbox = {}};
    const auto& of = each.interface ? result.interfaces[*each.interface] : whole;
    found.try_emplace(of.name, Found{each.address, !of.sandbox.empty()});
  }
  if (found.empty()) return Error{Errc::rejected, "the plugins made no interface with an address"};
  auto chosen = std::ranges::find_if(found, [](const auto& one) { return one.second.in_sandbox; });
  if (chosen == found.end()) chosen = found.begin();
  return NetworkStatus{.interface = chosen->first,
                       .address = chosen->second.address,
                       .dns_servers = result.dns_servers,
                       .dns_searches = result.dns_searches,
                       .dns_options = result.dns_options};
}

namespace {

/// Plugins say in words alone what they could not do.
CniError::Cause cause_of(std::string_view said) {
  constexpr std::array<std::pair<std::string_view, CniError::Cause>, 2> known{
      {{"could not check ipv4", CniError::Cause::ipv4_unchecked},
       {"could not check ipv6", CniError::Cause::ipv6_unchecked}}};
  for (const auto& [words, cause] : known)
    if (said.find(words) != said.npos) return cause;
  return CniError::Cause::other;
}

}  // namespace

CniError cni_failure(std::string_view plugin,
                     CniVerb verb,
                     int exit_code,
                     std::string_view output,
                     std::string_view errors) {
  const auto where = fmt::format("CNI plugin {} failed at {}", plugin, to_string(verb));
  boost::json::error_code failure;
  const auto tree = boost::json::parse(output, failure);
  if (!failure && tree.is_object()) {
    const auto& object = tree.get_object();
    std::int64_t code = last_reserved_code + 1;
    if (const auto* value = object.if_contains("code"); value != nullptr && value->is_number())
      code = value->to_number<std::int64_t>(failure);
    auto what = text_of(object, "msg");
    if (const auto details = text_of(object, "details"); !details.empty())
      what += what.empty() ? details : "; " + details;
    if (!what.empty()) {
      const bool passes = code > last_reserved_code
                          || std::ranges::find(passing_codes, code) != passing_codes.end();
      return {cause_of(what),
              {passes ? Errc::unavailable : Errc::rejected, fmt::format("{}: {}", where, what)}};
    }
  }
  constexpr std::size_t shown = 512;
  auto said = std::string{errors.empty() ? output : errors};
  while (!said.empty() && (said.back() == '\n' || said.back() == ' '))
    said.pop_back();
  if (said.size() > shown) said = said.substr(0, shown) + "…";
  return {
      cause_of(said),
      {Errc::unavailable, fmt::format("{}: exit code {}{}{}", where, exit_code,
                                      said.empty() ? "" : ": ", said.empty() ? "" : quote(said))}};
}

}  // namespace nomad::network
