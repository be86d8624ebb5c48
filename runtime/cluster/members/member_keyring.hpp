// MemberKeyring: the keys that servers seal what they tell each other by. Everything is sealed by
// the primary key and opened by whichever fits, so that keys are replaced one server after the
// other: the new one is installed everywhere, then used everywhere, then the old one is removed.
//
// Pure; not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.hpp"
#include "runtime/cluster/members/member_codec.hpp"

namespace nomad::cluster {

class MemberKeyring {
public:
  /// More are not kept.
  static constexpr std::size_t most_keys = 32;

  /// Without keys: nothing is sealed.
  MemberKeyring() = default;

  /// With one, as `encrypt` has it; "" is none.
  static Result<MemberKeyring> of(std::string_view encrypt);

  /// What `text` gave; errors name what is wrong with it.
  static Result<MemberKeyring> from_text(std::string_view text);

  /// A JSON list of keys in base64, the primary one first, as Nomad keeps it.
  std::string text() const;

  bool empty() const { return entries_.empty(); }

  /// Adds a key that opens. One that is there already changes nothing.
  Result<> install(std::string_view key);

  /// Makes an installed key the primary one.
  Result<> use(std::string_view key);

  /// Forgets a key, which must not be the primary one. One that is not there changes nothing.
  Result<> remove(std::string_view key);

  /// In base64, the primary one first.
  std::vector<std::string> keys() const;

  /// By which is sealed; null without any.
  const MemberKey* primary() const { return empty() ? nullptr : entries_.front().key.get(); }

  /// By which is opened, the primary one first.
  std::vector<const MemberKey*> all() const;

private:
  struct Entry {
    std::string text;
    std::shared_ptr<const MemberKey> key;
  };

  std::vector<Entry>::iterator find(std::string_view key);

  std::vector<Entry> entries_{};  ///< The primary one first.
};

/// What an operator asks of the keyrings of all servers.
enum class KeyringAction : std::uint8_t { list, install, use, remove };

/// Carries it out; "encryption not enabled" without keys.
Result<> carry_out(MemberKeyring& keyring, KeyringAction action, std::string_view key);

/// What all servers have answered.
struct KeyringAnswers {
  std::size_t servers = 0;                       ///< That were asked, this one among them.
  std::map<std::string, std::string> messages;   ///< By the name of the server: what went wrong.
  std::map<std::string, std::size_t> keys;       ///< How many servers have each.
  std::map<std::string, std::size_t> primaries;  ///< How many seal by each.

  /// A server has done it, and has these keys now.
  void count(const std::vector<std::string>& its_keys);
};

}  // namespace nomad::cluster
