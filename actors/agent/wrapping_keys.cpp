#include "actors/agent/wrapping_keys.hpp"

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "actors/agent/transit_key.hpp"
#include "runtime/base/text.hpp"

namespace nomad::agent {
namespace {

using config::KeyringBlock;
using security::FillRandom;
using security::WrappingKeys;

using Settings = std::vector<std::string_view>;

/// What may stand in a block. Whoever adds one adds its keys to runtime/config/keys.def, its line
/// below, and a WrappingKey of its own.
struct Provider {
  std::string_view name;
  Settings settings;
  Result<> (*add)(WrappingKeys&, const KeyringBlock&, const FillRandom&);
};

std::string name_of_block(std::string_view provider) {
  return "keyring " + quote(provider);
}

std::string setting_of(const KeyringBlock& block, const std::string& name) {
  const auto found = block.settings.find(name);
  return found != block.settings.end() ? found->second : "";
}

void add_key(WrappingKeys& keys,
             const KeyringBlock& block,
             std::shared_ptr<security::WrappingKey> key) {
  if (block.active)
    keys.active = std::move(key);
  else
    keys.others.push_back(std::move(key));
}

/// Servers wrap for each other, which needs no key.
Result<> add_none(WrappingKeys&, const KeyringBlock&, const FillRandom&) {
  return {};
}

Result<> add_files(WrappingKeys& keys, const KeyringBlock& block, const FillRandom& random) {
  const auto path = setting_of(block, "path");
  if (path.empty())
    return Error{Errc::invalid_argument, "path: expected the file of the wrapping key"};
  add_key(keys, block,
          NOMAD_TRY(security::open_file_key({.path = path, .create = block.create}, random)));
  for (const auto& older : block.older)
    keys.others.push_back(NOMAD_TRY(security::open_file_key({.path = older}, random)));
  return {};
}

/// As Nomad: what the block does not say is looked for in the environment.
std::string setting_or_variable(const KeyringBlock& block,
                                const std::string& name,
                                const char* variable) {
  const auto given = setting_of(block, name);
  if (!given.empty()) return given;
  const auto* value = std::getenv(variable);
  return value != nullptr ? value : "";
}

Result<> add_transit(WrappingKeys& keys, const KeyringBlock& block, const FillRandom&) {
  add_key(keys, block,
          NOMAD_TRY(make_transit_key(
              {.address = setting_or_variable(block, "address", "VAULT_ADDR"),
               .token = setting_or_variable(block, "token", "VAULT_TOKEN"),
               .key_name = setting_of(block, "key_name"),
               .mount_path = setting_of(block, "mount_path"),
               .vault_namespace = setting_or_variable(block, "namespace", "VAULT_NAMESPACE"),
               .ca_file = setting_or_variable(block, "tls_ca_cert", "VAULT_CACERT"),
               .tls_server_name
               = setting_or_variable(block, "tls_server_name", "VAULT_TLS_SERVER_NAME")})));
  return {};
}

const std::vector<Provider>& providers() {
  static const std::vector<Provider> all{{"aead", {}, add_none},
                                         {"file", {"path", "older", "create"}, add_files},
                                         {"transit",
                                          {"address", "key_name", "mount_path", "namespace",
                                           "tls_ca_cert", "tls_server_name", "token"},
                                          add_transit}};
  return all;
}

/// "\"aead\", \"file\" and \"transit\"".
template <class Names>
std::string listed(const Names& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i)
    text += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + quote(names[i]);
  return text;
}

Result<const Provider*> find_provider(std::string_view name) {
  std::vector<std::string_view> names;
  for (const auto& each : providers()) {
    if (each.name == name) return &each;
    names.push_back(each.name);
  }
  return Error{Errc::invalid_argument, "no such provider; there are " + listed(names)};
}

/// What would not be heeded is refused: it may be what somebody relies on.
Result<> check_settings(const Provider& provider, const KeyringBlock& block) {
  Settings given;
  for (const auto& [name, value] : block.settings)
    if (!value.empty()) given.push_back(name);
  if (!block.older.empty()) given.push_back("older");
  if (block.create) given.push_back("create");
  for (const auto name : given)
    if (std::ranges::find(provider.settings, name) == provider.settings.end())
      return Error{Errc::invalid_argument,
                   std::string{name}
                       + (provider.settings.empty()
                              ? ": servers wrap for each other, and are told nothing"
                              : ": this provider is told " + listed(provider.settings))};
  return {};
}

}  // namespace

Result<WrappingKeys> wrapping_keys(const std::map<std::string, KeyringBlock>& blocks,
                                   const FillRandom& random) {
  WrappingKeys keys;
  std::string active;
  for (const auto& [label, block] : blocks) {
    const auto name = name_of_block(label);
    const auto* provider = NOMAD_TRY(find_provider(label).within(name));
    if (block.active && !active.empty())
      return Error{Errc::invalid_argument,
                   name + ": " + active + " is active, too; one of them can be"};
    if (block.active) active = name;
    NOMAD_TRY(check_settings(*provider, block).within(name));
    NOMAD_TRY(provider->add(keys, block, random).within(name));
  }
  return keys;
}

}  // namespace nomad::agent
