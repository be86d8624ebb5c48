#include "actors/agent/wrapping_keys.hpp"

#include <cstdlib>

#include "actors/agent/transit_key.hpp"
#include "runtime/base/text.hpp"

namespace nomad::agent {
namespace {

using security::WrappingKeys;

constexpr std::string_view own_provider = "aead";
constexpr std::string_view file_provider = "file";
constexpr std::string_view transit_provider = "transit";

std::string name_of_block(const std::string& provider) {
  return "keyring " + quote(provider);
}

Result<> add_files(WrappingKeys& keys,
                   const config::KeyringBlock& block,
                   const security::FillRandom& random) {
  if (block.path.empty())
    return Error{Errc::invalid_argument, "path: expected the file of the wrapping key"};
  auto newest
      = NOMAD_TRY(security::open_file_key({.path = block.path, .create = block.create}, random));
  if (block.active)
    keys.active = std::move(newest);
  else
    keys.others.push_back(std::move(newest));
  for (const auto& path : block.older) {
    auto older = NOMAD_TRY(security::open_file_key({.path = path}, random));
    keys.others.push_back(std::move(older));
  }
  return {};
}

/// As Nomad: what the block does not say is looked for in the environment.
std::string or_of_environment(const std::string& given, const char* name) {
  if (!given.empty()) return given;
  const auto* value = std::getenv(name);
  return value != nullptr ? value : "";
}

Result<> add_transit(WrappingKeys& keys, const config::KeyringBlock& block) {
  auto key = NOMAD_TRY(make_transit_key(
      {.address = or_of_environment(block.address, "VAULT_ADDR"),
       .token = or_of_environment(block.token, "VAULT_TOKEN"),
       .key_name = block.key_name,
       .mount_path = block.mount_path,
       .vault_namespace = or_of_environment(block.vault_namespace, "VAULT_NAMESPACE"),
       .ca_file = or_of_environment(block.tls_ca_cert, "VAULT_CACERT"),
       .tls_server_name = or_of_environment(block.tls_server_name, "VAULT_TLS_SERVER_NAME")}));
  if (block.active)
    keys.active = std::move(key);
  else
    keys.others.push_back(std::move(key));
  return {};
}

Result<> check_own(const config::KeyringBlock& block) {
  if (block.path.empty() && block.older.empty() && !block.create) return {};
  return Error{Errc::invalid_argument, "servers wrap for each other, by no file"};
}

Result<> add_provider(WrappingKeys& keys,
                      const std::string& provider,
                      const config::KeyringBlock& block,
                      const security::FillRandom& random) {
  if (provider == file_provider) return add_files(keys, block, random);
  if (provider == transit_provider) return add_transit(keys, block);
  return check_own(block);
}

}  // namespace

Result<WrappingKeys> wrapping_keys(const std::map<std::string, config::KeyringBlock>& blocks,
                                   const security::FillRandom& random) {
  WrappingKeys keys;
  std::string active;
  for (const auto& [provider, block] : blocks) {
    const auto name = name_of_block(provider);
    if (provider != own_provider && provider != file_provider && provider != transit_provider)
      return Error{Errc::invalid_argument,
                   name + ": no such provider; there are \"aead\", \"file\" and \"transit\""};
    if (block.active && !active.empty())
      return Error{Errc::invalid_argument,
                   name + ": " + active + " is active, too; one of them can be"};
    if (block.active) active = name;
    NOMAD_TRY(add_provider(keys, provider, block, random).within(name));
  }
  return keys;
}

}  // namespace nomad::agent
