// acl auth-method create, delete, info, list, update.
#include <algorithm>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "cli/acl/acl_view.hpp"
#include "cli/did_you_mean.hpp"
#include "cli/input.hpp"
#include "cli/kinds/specification.hpp"
#include "cli/run.hpp"
#include "runtime/base/duration.hpp"
#include "runtime/base/similar_name.hpp"
#include "runtime/base/text.hpp"

namespace nomad::cli {
namespace {

constexpr std::string_view method_argument = "<acl_auth_method_name>";

const std::vector<std::string_view> config_members{
    "AllowedRedirectURIs",  "BoundAudiences",    "BoundIssuer",
    "ClaimMappings",        "ClockSkewLeeway",   "DiscoveryCaPem",
    "ExpirationLeeway",     "JWKSCACert",        "JWKSURL",
    "JWTValidationPubKeys", "ListClaimMappings", "NotBeforeLeeway",
    "OIDCClientID",         "OIDCClientSecret",  "OIDCDiscoveryURL",
    "OIDCScopes",           "SigningAlgs"};

/// A configuration with the API's names, and its durations as texts. A member that is misspelt
/// is an error: without it, the method might believe whom it should not.
Result<boost::json::object> checked_config(const boost::json::object& given) {
  boost::json::object config;
  for (const auto& member : given) {
    const std::string_view name{member.key().data(), member.key().size()};
    const auto known = std::ranges::find_if(
        config_members, [name](std::string_view one) { return to_lower(one) == to_lower(name); });
    if (known == config_members.end()) {
      const auto near = closest_name(name, config_members);
      return mistake(fmt::format("unknown member {}{}", quote(name),
                                 near.empty() ? "" : fmt::format("; did you mean {}?", near)));
    }
    auto value = member.value();
    if (known->ends_with("Leeway")) {
      const View leeway{value};
      if (value.is_int64())
        value = format_duration(Nanoseconds{value.get_int64()});
      else if (const auto text = leeway.text(); !text.empty())
        value = format_duration(NOMAD_TRY(parse_duration(text).within(*known)));
    }
    config[*known] = std::move(value);
  }
  return config;
}

struct MethodFlags {
  std::string& type;
  std::string& locality;
  std::string& ttl;
  std::optional<bool> is_default;
  std::string& config;

  explicit MethodFlags(Arguments& command)
      : type{command.option("type", "OIDC or JWT.")},
        locality{command.option("token-locality",
                                "Whether its tokens are local to a region or global.")},
        ttl{command.option("max-token-ttl", "How long its tokens count: \"1h\".")},
        config{command.option(
            "config", "Its configuration in JSON; @path: that of a file, -: that of stdin.")} {
    command.flag("default", is_default, "It is the one of `login` without -method.");
  }

  Result<> put_type(boost::json::object& method) const {
    const auto name = to_upper(type);
    if (name != "OIDC" && name != "JWT")
      return mistake("ACL auth method type must be set to 'OIDC' or 'JWT'");
    method["Type"] = name;
    return {};
  }

  Result<> put_locality(boost::json::object& method) const {
    if (locality != "local" && locality != "global")
      return mistake("Token locality must be set to either 'local' or 'global'");
    method["TokenLocality"] = locality;
    return {};
  }

  Result<> put_ttl(boost::json::object& method) const {
    const auto amount = ttl.empty() ? 0 : NOMAD_TRY(ttl_of_flag("max-token-ttl", ttl));
    if (amount < 1)
      return mistake(
          "Max token TTL must be set to a value between min and max TTL configured for the "
          "server.");
    method["MaxTokenTTL"] = format_duration(Nanoseconds{amount});
    return {};
  }

  Result<> put_config(boost::json::object& method) const {
    auto text = config;
    if (config == "-")
      text = NOMAD_TRY(read_input("-").within("Error loading configuration: Failed to read stdin"));
    if (config.starts_with('@'))
      text = NOMAD_TRY(
          read_input(config.substr(1)).within("Error loading configuration: Failed to read file"));
    const auto members = NOMAD_TRY(object_of_json(text).within("Unable to parse config"));
    method["Config"] = NOMAD_TRY(checked_config(members).within("Unable to parse config"));
    return {};
  }
};

}  // namespace

Result<int> run_acl_auth_method_create(const std::vector<std::string>& arguments) {
  ApiCommand command{"acl auth-method create [options]",
                     "Creates a way to log in: by tokens of another issuer (JWT), or by a "
                     "provider of OpenID Connect."};
  auto& name = command.option("name", "Its name: 1 to 128 letters, digits and dashes.");
  MethodFlags flags{command};
  OutputFlags output{command};
  if (auto code = command.parse(arguments, {})) return *code;
  boost::json::object method{{"Name", name}, {"Default", flags.is_default.value_or(false)}};
  if (name.empty()) return mistake("ACL auth method name must be specified using the -name flag");
  NOMAD_TRY(flags.put_locality(method));
  NOMAD_TRY(flags.put_ttl(method));
  NOMAD_TRY(flags.put_type(method));
  if (flags.config.empty()) return mistake("Must provide ACL auth method config in JSON format");
  NOMAD_TRY(flags.put_config(method));
  NOMAD_TRY(one_format(output));
  auto& api = *NOMAD_TRY(command.connect());
  const auto made
      = NOMAD_TRY(api.put("/v1/acl/auth-method", method).within("Error creating ACL auth method"));
  return show_acl(output, made.body, auth_method_layout);
}

Result<int> run_acl_auth_method_delete(const std::vector<std::string>& arguments) {
  return delete_acl({.usage = "acl auth-method delete [options] <acl_method_name>",
                     .about = "Removes an auth method. Its binding rules stay, and count again "
                              "for one of its name. Tokens of former logins count until they "
                              "expire.",
                     .argument = std::string{method_argument},
                     .path = "/v1/acl/auth-method/",
                     .object = "ACL auth method",
                     .done = "ACL auth method {} successfully deleted"},
                    arguments);
}

Result<int> run_acl_auth_method_info(const std::vector<std::string>& arguments) {
  ApiCommand command{fmt::format("acl auth-method info [options] {}", method_argument),
                     "Shows an auth method. Only management may."};
  OutputFlags output{command};
  if (auto code = command.start(arguments, one_word(method_argument))) return *code;
  const auto& name = command.positional()[0];
  const auto method = command.api->get("/v1/acl/auth-method/" + segment(name))
                          .within("Error reading ACL auth method");
  if (!method) return with_meant(*command.api, method.error(), "/v1/acl/auth-methods", name);
  return show_acl(output, method->body, auth_method_layout);
}

Result<int> run_acl_auth_method_list(const std::vector<std::string>& arguments) {
  return list_acl({.usage = "acl auth-method list [options]",
                   .about = "Lists the auth methods, which anybody may see.",
                   .path = "/v1/acl/auth-methods",
                   .objects = "ACL auth methods",
                   .none = "No ACL auth methods found",
                   .columns = {"Name", "Type", "Default"},
                   .row =
                       [](const View& method) {
                         return Row{method["Name"].text(), method["Type"].text(),
                                    method["Default"].truth() ? "true" : "false"};
                       }},
                  arguments);
}

Result<int> run_acl_auth_method_update(const std::vector<std::string>& arguments) {
  ApiCommand command{fmt::format("acl auth-method update [options] {}", method_argument),
                     "Changes what is given of an auth method; a configuration is set as a whole."};
  const MethodFlags flags{command};
  OutputFlags output{command};
  if (auto code = command.start(arguments, one_word(method_argument))) return *code;
  NOMAD_TRY(one_format(output));
  auto& api = *command.api;
  const auto path = "/v1/acl/auth-method/" + segment(command.positional()[0]);
  const auto stored = NOMAD_TRY(api.get(path).within("Error when retrieving ACL auth method"));
  // What is not sent stays: a configuration that was read would bring its secret, or no secret.
  boost::json::object method{
      {"Name", stored.view()["Name"].text()},
      {"Default", flags.is_default.value_or(stored.view()["Default"].truth())}};
  if (command.is_given("token-locality")) NOMAD_TRY(flags.put_locality(method));
  if (command.is_given("type")) NOMAD_TRY(flags.put_type(method));
  if (command.is_given("max-token-ttl")) NOMAD_TRY(flags.put_ttl(method));
  if (!flags.config.empty()) NOMAD_TRY(flags.put_config(method));
  if (method.size() == 2 && !flags.is_default)
    return mistake("Please provide at least one flag to update the ACL auth method");
  const auto made = NOMAD_TRY(api.put(path, method).within("Error updating ACL auth method"));
  return show_acl(output, made.body, auth_method_layout);
}

}  // namespace nomad::cli
