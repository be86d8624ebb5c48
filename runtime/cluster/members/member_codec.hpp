// Member tables as bytes for other servers, sealed by the key of `encrypt` when there is one: who
// does not have the key neither reads nor joins.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "runtime/base/result.hpp"
#include "runtime/cluster/members/membership.hpp"
#include "runtime/object/object.hpp"
#include "schema/membership.capnp.h"

namespace nomad::cluster {

/// What something was sealed for: it opens as nothing else, not as a table either.
enum class SealedFor : std::uint8_t { keyring_order, keyring_report };

/// The secret that all servers share; wiped when it goes.
class MemberKey {
public:
  /// From the text of `encrypt`: 16, 24 or 32 bytes in base64, as `operator gossip keyring
  /// generate` makes them.
  static Result<std::shared_ptr<const MemberKey>> from_text(std::string_view text);

  MemberKey(const MemberKey&) = delete;
  MemberKey& operator=(const MemberKey&) = delete;
  ~MemberKey();

  const unsigned char* bytes() const { return bytes_.data(); }

  /// The key by which this one seals for `use`, made from it and of no use to find it.
  std::unique_ptr<const MemberKey> for_use(SealedFor use) const;

private:
  MemberKey() = default;

  std::array<unsigned char, 32> bytes_{};
};

/// Random bytes; no two tables are sealed by the same ones and one key.
using SealNonce = std::array<unsigned char, 24>;

/// `key` may be null: plain, and without need of `nonce`.
Object<schema::membership::Envelope> write_table(const MemberTable& table,
                                                 const MemberKey* key,
                                                 const SealNonce& nonce);

/// By any of `keys`. `permission_denied` when the envelope is sealed by another key, or sealed
/// without us having one, or plain although we have one; `corrupt` when its contents are.
Result<MemberTable> read_table(schema::membership::Envelope::Reader envelope,
                               const std::vector<const MemberKey*>& keys);

/// The same with one key, or null for none.
inline Result<MemberTable> read_table(schema::membership::Envelope::Reader envelope,
                                      const MemberKey* key) {
  return read_table(envelope, key == nullptr ? std::vector<const MemberKey*>{} : std::vector{key});
}

/// Any flat object, sealed, the nonce first.
Object<schema::membership::Sealed> seal_bytes(std::span<const std::byte> plain,
                                              const MemberKey& key,
                                              SealedFor use,
                                              const SealNonce& nonce);

/// What was sealed for `use` by one of `keys`; errors as of `read_table`.
Result<std::vector<std::byte>> open_bytes(schema::membership::Sealed::Reader sealed,
                                          SealedFor use,
                                          const std::vector<const MemberKey*>& keys);

}  // namespace nomad::cluster
