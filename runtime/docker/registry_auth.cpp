#include "runtime/docker/registry_auth.hpp"

#include <algorithm>
#include <cstdlib>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <fmt/format.h>

#include "runtime/base/base64.hpp"
#include "runtime/host/process/run_program.hpp"
#include "runtime/host/process/spawn.hpp"
#include "runtime/object/json_codec.hpp"

namespace nomad::docker {
namespace {

constexpr std::string_view official_key = "https://index.docker.io/v1/";

/// "https://quay.io/v2/" as old files have it: "quay.io".
std::string_view host_of_key(std::string_view key) {
  for (const std::string_view scheme : {"http://", "https://"})
    if (key.starts_with(scheme)) key.remove_prefix(scheme.size());
  return key.substr(0, key.find('/'));
}

Result<Auth> read_entry(const Members& entry, std::string_view server) {
  Auth auth{.username = entry.text("username"),
            .password = entry.text("password"),
            .email = entry.text("email"),
            .server = std::string{server},
            .identity_token = entry.text("identitytoken"),
            .registry_token = entry.text("registrytoken")};
  const auto packed = entry.text("auth");
  if (packed.empty()) return auth;
  auto pair = NOMAD_TRY(decode_base64(packed));
  const auto colon = pair.find(':');
  if (colon == std::string::npos)
    return Error{Errc::corrupt,
                 fmt::format("invalid auth configuration file: the auth of {} is not user:password "
                             "in base64",
                             server)};
  auth.username = pair.substr(0, colon);
  auth.password = pair.substr(colon + 1);
  while (!auth.password.empty() && auth.password.back() == '\0')
    auth.password.pop_back();
  return auth;
}

/// The entry of `registry` in "auths".
Result<std::optional<Auth>> find_entry(const boost::json::object& file,
                                       const std::string& registry) {
  const auto* const auths = file.if_contains("auths");
  if (auths == nullptr || !auths->is_object()) return std::optional<Auth>{};
  const auto& entries = auths->get_object();
  const bool is_official = registry == "docker.io";
  const auto key = is_official ? std::string{official_key} : registry;
  const auto* found = entries.if_contains(key);
  std::string_view server = key;
  if (found == nullptr && !is_official)
    for (const auto& [name, entry] : entries)
      if (host_of_key({name.data(), name.size()}) == registry) {
        found = &entry;
        server = {name.data(), name.size()};
        break;
      }
  if (found == nullptr || !found->is_object()) return std::optional<Auth>{};
  return std::optional{NOMAD_TRY(read_entry(Members{found->get_object()}, server))};
}

Result<std::optional<Auth>> ask_helper(const std::string& helper,
                                       const std::string& registry,
                                       const RunHelper& run) {
  if (helper.empty()) return std::optional<Auth>{};
  return read_helper_answer(NOMAD_TRY(run(helper, registry))).within("docker-credential-" + helper);
}

Result<std::optional<Auth>> find_in_file(const std::string& text,
                                         const std::string& registry,
                                         const RunHelper& run) {
  const auto parsed = parse_json(text);
  if (!parsed || !parsed->is_object())
    return Error{Errc::corrupt, "Failed to parse auth config file: "
                                    + (parsed ? std::string{"no object"} : parsed.error().what)};
  const auto& file = parsed->get_object();
  auto found = find_entry(file, registry);
  if (!found) return found.error().within("Failed to parse auth config file");
  const bool has_token = *found && !((*found)->identity_token + (*found)->registry_token).empty();
  if (*found && (!(*found)->username.empty() || !(*found)->password.empty() || has_token))
    return found;
  const Members members{file};
  const auto helpers = members.map("credHelpers");
  const auto key = registry == "docker.io" ? std::string{official_key} : registry;
  if (const auto own = helpers.find(key); own != helpers.end()) {
    auto asked = NOMAD_TRY(ask_helper(own->second, registry, run));
    if (asked) return asked;
  }
  return ask_helper(members.text("credsStore"), registry, run);
}

}  // namespace

Result<std::string> run_credential_helper(const std::string& helper, const std::string& registry) {
  const auto name = "docker-credential-" + helper;
  if (helper.find('/') != std::string::npos)
    return Error{Errc::invalid_argument, fmt::format("{}: a helper's name has no slash", name)};
  const char* const own_path = std::getenv("PATH");
  const auto program = host::find_program(name, own_path == nullptr ? host::system_path : own_path);
  if (program.empty())
    return Error{Errc::not_found,
                 fmt::format("exec: \"{}\": executable file not found in $PATH", name)};
  const auto ended = NOMAD_TRY(host::run_program({.program = program,
                                                  .arguments = {"get"},
                                                  .environment = host::own_environment(),
                                                  .input = registry}));
  if (ended.exit_code != 0)
    return Error{Errc::rejected,
                 fmt::format("{} with input \"{}\" failed with stderr: {}", name, registry,
                             ended.errors.empty() ? ended.output : ended.errors)};
  return ended.output;
}

Result<std::optional<Auth>> read_helper_answer(std::string_view printed) {
  const auto parsed = parse_json(printed);
  if (!parsed || !parsed->is_object())
    return Error{Errc::corrupt, "the credential helper printed no JSON object"};
  const Members members{parsed->get_object()};
  Auth auth{.username = members.text("Username"), .password = members.text("Secret")};
  if (auth.empty()) return std::optional<Auth>{};
  // By Docker's convention the secret is a token then.
  if (auth.username == "<token>") {
    auth.username.clear();
    auth.identity_token = std::exchange(auth.password, {});
  }
  return std::optional{std::move(auth)};
}

Result<std::optional<Auth>> find_auth(const AuthSources& sources,
                                      const ImageName& image,
                                      const RunHelper& run) {
  if (!sources.task.empty()) return std::optional{sources.task};
  const auto registry = registry_of(image);
  if (!sources.config_file.empty()) {
    auto found = NOMAD_TRY(find_in_file(sources.config_file, registry, run));
    if (found) return found;
  }
  return ask_helper(sources.helper, registry, run);
}

std::string auth_header(const Auth& auth) {
  boost::json::object members;
  const auto put = [&members](const char* name, const std::string& value) {
    if (!value.empty()) members[name] = value;
  };
  put("username", auth.username);
  put("password", auth.password);
  put("email", auth.email);
  put("serveraddress", auth.server);
  put("identitytoken", auth.identity_token);
  put("registrytoken", auth.registry_token);
  return encode_base64_url(boost::json::serialize(members));
}

}  // namespace nomad::docker
