#include "actors/agent/gossip_keyring.hpp"

#include <filesystem>

#include <fmt/format.h>

#include "runtime/base/files/bounded.hpp"
#include "runtime/base/files/replace_file.hpp"

namespace nomad::agent {

Result<cluster::MemberKeyring> open_gossip_keyring(const std::string& path,
                                                   const std::string& encrypt) {
  std::error_code failure;
  if (!std::filesystem::exists(path, failure) && !failure) {
    auto first = NOMAD_TRY(cluster::MemberKeyring::of(encrypt));
    if (!first.empty()) NOMAD_TRY(keep_gossip_keyring(path, first.text()));
    return first;
  }
  const auto text = NOMAD_TRY(read_whole_file(path));
  auto keyring = cluster::MemberKeyring::from_text(text);
  if (!keyring) return keyring.error().within("cannot read \"" + path + "\"");
  return keyring;
}

Result<> keep_gossip_keyring(const std::string& path, const std::string& text) {
  return replace_file(path, text, Durability::of_disk);
}

std::string remark_on_encrypt(const cluster::MemberKeyring& keyring,
                              const std::string& path,
                              const std::string& encrypt) {
  if (keyring.empty()) return {};
  if (encrypt.empty())
    return fmt::format(
        "server.encrypt is not set, and servers' membership is sealed by the keys of \"{}\", which "
        "count as long as it is there; this server wraps root keys for no shared secret, and "
        "leaves "
        "those wraps that there are, until encrypt is the primary key of the keyring",
        path);
  if (keyring.keys().front() == encrypt) return {};
  return fmt::format(
      "server.encrypt is not the primary key of the keyring in \"{}\": root keys are still wrapped "
      "by it, so whoever has it and a snapshot can open them, also once it was removed from the "
      "keyring. Set encrypt to the primary key on all servers, restart them, and then run "
      "`nomadctl operator root keyring rotate -full`",
      path);
}

}  // namespace nomad::agent
