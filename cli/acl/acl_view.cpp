#include "cli/acl/acl_view.hpp"

#include <algorithm>
#include <iostream>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "cli/output/api_shape.hpp"
#include "runtime/base/duration.hpp"
#include "runtime/base/text.hpp"

namespace nomad::cli {
namespace {

std::vector<std::string> texts_of(const View& list) {
  std::vector<std::string> texts;
  for (const auto& one : list.items())
    texts.push_back(one.text());
  return texts;
}

std::string commas(const View& list) {
  return join(texts_of(list), ",");
}

std::string mappings(const View& map) {
  std::vector<std::string> texts;
  for (const auto& [claim, name] : map.members())
    texts.push_back(fmt::format("{{{}: {}}}", claim, name.text()));
  return join(texts, "; ");
}

std::string duration_or_zero(const View& text) {
  const auto shown = text.text();
  return shown.empty() ? "0s" : shown;
}

/// What -json and -t are about. A token that never expires has no expiry in JSON, and one that
/// templates may ask for.
boost::json::value printed(const OutputFlags& output, const boost::json::value& answer) {
  auto shown = as_printed(ApiShape::kind, answer);
  const auto settle_expiry = [&output](boost::json::value& one) {
    if (!one.is_object() || !one.get_object().contains("AccessorID")) return;
    auto& token = one.get_object();
    token.emplace("ExpirationTime", nullptr);
    if (output.json && token["ExpirationTime"].is_null()) token.erase("ExpirationTime");
  };
  settle_expiry(shown);
  if (shown.is_array()) std::ranges::for_each(shown.get_array(), settle_expiry);
  return shown;
}

std::string section(std::string_view name) {
  return "\n\n" + title(name) + "\n";
}

}  // namespace

Result<int> list_acl(const AclList& list, const std::vector<std::string>& arguments) {
  ApiCommand command{list.usage, list.about};
  OutputFlags output{command};
  if (auto code = command.start(arguments)) return *code;
  const auto answer
      = NOMAD_TRY(command.api->get(list.path).within("Error listing " + list.objects));
  if (auto code = output.print(printed(output, answer.body))) return *code;
  Rows rows{list.columns};
  for (const auto& object : answer.view().items())
    rows.push_back(list.row(object));
  std::cout << (rows.size() == 1 ? list.none : table(rows)) << '\n';
  return 0;
}

Result<int> delete_acl(const AclDeletion& deletion, const std::vector<std::string>& arguments) {
  ApiCommand command{deletion.usage, deletion.about};
  if (auto code = command.start(arguments, one_word(deletion.argument))) return *code;
  const auto& name = command.positional()[0];
  NOMAD_TRY(command.api->remove(deletion.path + segment(name))
                .within("Error deleting " + deletion.object));
  std::cout << fmt::format(fmt::runtime(deletion.done), name) << '\n';
  return 0;
}

int show_acl(const OutputFlags& output,
             const boost::json::value& object,
             std::string (*layout)(const View&)) {
  if (auto code = output.print(printed(output, object))) return *code;
  std::cout << layout(View{object}) << '\n';
  return 0;
}

int show_made(const OutputFlags& output,
              const boost::json::value& object,
              std::string (*layout)(const View&)) {
  const int code = show_acl(output, object, layout);
  if (code != 0) std::cout << layout(View{object}) << '\n';
  return code;
}

Result<> one_format(const OutputFlags& output) {
  if (output.json && !output.format.empty())
    return mistake("Both json and template formatting are not allowed");
  return {};
}

std::string token_layout(const View& token) {
  Pairs shown{{"Accessor ID", token["AccessorID"].text()},
              {"Secret ID", token["SecretID"].text()},
              {"Name", token["Name"].text()},
              {"Type", token["Type"].text()},
              {"Global", token["Global"].truth() ? "true" : "false"},
              {"Create Time", go_time(token["CreateTime"], "0001-01-01 00:00:00 +0000 UTC")},
              {"Expiry Time", go_time(token["ExpirationTime"], "<none>")},
              {"Create Index", token["CreateIndex"].text()},
              {"Modify Index", token["ModifyIndex"].text()}};
  if (token["Type"].text() == "management") {
    shown.emplace_back("Policies", "n/a");
    shown.emplace_back("Roles", "n/a");
    return pairs(shown);
  }
  shown.emplace_back("Policies", "[" + join(texts_of(token["Policies"]), " ") + "]");
  Rows roles;
  for (const auto& role : token["Roles"].items())
    roles.push_back({role["ID"].text(), role["Name"].text()});
  if (roles.empty())
    roles.push_back({"<none>"});
  else
    roles.insert(roles.begin(), {"ID", "Name"});
  return pairs(shown) + "\n\nRoles\n" + table(roles);
}

std::string policy_layout(const View& policy) {
  auto text = pairs({{"Name", policy["Name"].text()},
                     {"Description", policy["Description"].text()},
                     {"CreateIndex", policy["CreateIndex"].text()},
                     {"ModifyIndex", policy["ModifyIndex"].text()}});
  if (const auto workload = policy["JobACL"]; !workload.is_null()) {
    text += section("Associated Workload");
    text += pairs({{"Namespace", workload["Namespace"].text()},
                   {"JobID", workload["JobID"].text()},
                   {"Group", workload["Group"].text()},
                   {"Task", workload["Task"].text()}});
  }
  return text + section("Rules") + "\n" + policy["Rules"].text();
}

std::string role_layout(const View& role) {
  return pairs({{"ID", role["ID"].text()},
                {"Name", role["Name"].text()},
                {"Description", role["Description"].text()},
                {"Policies", join(policy_names(role), ",")},
                {"Create Index", role["CreateIndex"].text()},
                {"Modify Index", role["ModifyIndex"].text()}});
}

std::string auth_method_layout(const View& method) {
  auto text = pairs({{"Name", method["Name"].text()},
                     {"Type", method["Type"].text()},
                     {"Locality", method["TokenLocality"].text()},
                     {"Max Token TTL", duration_or_zero(method["MaxTokenTTL"])},
                     {"Default", method["Default"].truth() ? "true" : "false"},
                     {"Create Index", method["CreateIndex"].text()},
                     {"Modify Index", method["ModifyIndex"].text()}});
  const auto config = method["Config"];
  if (config.is_null()) return text;
  return text + section("Auth Method Config") + "\n"
         + pairs_of_lines({{"JWT Validation Public Keys", commas(config["JWTValidationPubKeys"])},
                           {"JWKS URL", config["JWKSURL"].text()},
                           {"OIDC Discovery URL", config["OIDCDiscoveryURL"].text()},
                           {"OIDC Client ID", config["OIDCClientID"].text()},
                           {"OIDC Client Secret", config["OIDCClientSecret"].text()},
                           {"OIDC Scopes", commas(config["OIDCScopes"])},
                           {"Bound audiences", commas(config["BoundAudiences"])},
                           {"Bound issuer", commas(config["BoundIssuer"])},
                           {"Allowed redirects URIs", commas(config["AllowedRedirectURIs"])},
                           {"Discovery CA pem", commas(config["DiscoveryCaPem"])},
                           {"JWKS CA cert", config["JWKSCACert"].text()},
                           {"Signing algorithms", commas(config["SigningAlgs"])},
                           {"Expiration Leeway", duration_or_zero(config["ExpirationLeeway"])},
                           {"NotBefore Leeway", duration_or_zero(config["NotBeforeLeeway"])},
                           {"ClockSkew Leeway", duration_or_zero(config["ClockSkewLeeway"])},
                           {"Claim mappings", mappings(config["ClaimMappings"])},
                           {"List claim mappings", mappings(config["ListClaimMappings"])}});
}

std::string binding_rule_layout(const View& rule) {
  constexpr std::string_view never = "0001-01-01 00:00:00 +0000 UTC";
  return pairs({{"ID", rule["ID"].text()},
                {"Description", rule["Description"].text()},
                {"Auth Method", rule["AuthMethod"].text()},
                {"Selector", quote(rule["Selector"].text())},
                {"Bind Type", rule["BindType"].text()},
                {"Bind Name", rule["BindName"].text()},
                {"Create Time", go_time(rule["CreateTime"], never)},
                {"Modify Time", go_time(rule["ModifyTime"], never)},
                {"Create Index", rule["CreateIndex"].text()},
                {"Modify Index", rule["ModifyIndex"].text()}});
}

std::string go_time(const View& rfc3339, std::string_view otherwise) {
  const auto instant = parse_rfc3339(rfc3339.text());
  if (!instant || *instant == 0) return std::string{otherwise};
  auto text = format_rfc3339(*instant);
  std::ranges::replace(text, 'T', ' ');
  text.pop_back();
  return text + " +0000 UTC";
}

std::vector<std::string> policy_names(const View& role) {
  std::vector<std::string> names;
  for (const auto& policy : role["Policies"].items())
    names.push_back(policy["Name"].text());
  std::ranges::sort(names);
  return names;
}

void set_if_given(boost::json::object& object, std::string_view name, const std::string& value) {
  if (!value.empty()) object[name] = value;
}

boost::json::object without(boost::json::value object,
                            std::initializer_list<std::string_view> names) {
  if (!object.is_object()) return {};
  auto kept = std::move(object.get_object());
  for (const auto name : names)
    kept.erase(name);
  return kept;
}

Result<std::int64_t> ttl_of_flag(std::string_view flag, const std::string& text) {
  const auto ttl = parse_duration(text);
  if (ttl) return ttl->count();
  return mistake(fmt::format("invalid value {} for flag -{}: parse error", quote(text), flag));
}

}  // namespace nomad::cli
