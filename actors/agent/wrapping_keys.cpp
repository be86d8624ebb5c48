#include "actors/agent/wrapping_keys.hpp"

#include "runtime/base/text.hpp"

namespace nomad::agent {
namespace {

using security::WrappingKeys;

constexpr std::string_view own_provider = "aead";
constexpr std::string_view file_provider = "file";

std::string name_of_block(const std::string& provider) {
  return "keyring " + quote(provider);
}

Result<> add_files(WrappingKeys& keys,
                   const config::KeyringBlock& block,
                   const security::FillRandom& random) {
  if (block.path.empty())
    return Error{Errc::invalid_argument, "path: expected the file of the wrapping key"};
  auto newest = NOMAD_TRY(
      security::open_file_key({.path = block.path, .create = block.create}, random));
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

Result<> check_own(const config::KeyringBlock& block) {
  if (block.path.empty() && block.older.empty() && !block.create) return {};
  return Error{Errc::invalid_argument, "servers wrap for each other, by no file"};
}

}  // namespace

Result<WrappingKeys> wrapping_keys(const std::map<std::string, config::KeyringBlock>& blocks,
                                   const security::FillRandom& random) {
  WrappingKeys keys;
  std::string active;
  for (const auto& [provider, block] : blocks) {
    const auto name = name_of_block(provider);
    if (provider != own_provider && provider != file_provider)
      return Error{Errc::invalid_argument,
                   name + ": no such provider; there are " + quote(own_provider) + " and "
                       + quote(file_provider)};
    if (block.active && !active.empty())
      return Error{Errc::invalid_argument,
                   name + ": " + active + " is active, too; one of them can be"};
    if (block.active) active = name;
    if (provider == own_provider)
      NOMAD_TRY(check_own(block).within(name));
    else
      NOMAD_TRY(add_files(keys, block, random).within(name));
  }
  return keys;
}

}  // namespace nomad::agent
