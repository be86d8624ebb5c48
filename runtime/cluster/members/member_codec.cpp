#include "runtime/cluster/members/member_codec.hpp"

#include <algorithm>
#include <memory>
#include <tuple>
#include <vector>

#include <sodium.h>

#include "runtime/object/draft.hpp"

namespace nomad::cluster {
namespace {

namespace wire = schema::membership;

constexpr unsigned max_members = 1'024;
constexpr unsigned max_removed = 4'096;
constexpr std::size_t overhead = crypto_secretbox_NONCEBYTES + crypto_secretbox_MACBYTES;

void write(const MemberInfo& from, wire::Member::Builder to) {
  to.setId(text(from.id));
  to.setName(text(from.name));
  to.setRegion(text(from.region));
  to.setDatacenter(text(from.datacenter));
  to.setRpcAddress(text(from.rpc_address));
  to.setHttpAddress(text(from.http_address));
  to.setBuild(text(from.build));
  to.setExpect(from.expect);
  to.setClusterId(text(from.cluster_id));
  to.setIncarnation(from.incarnation);
  to.setStatus(static_cast<std::uint8_t>(from.status));
  to.setProtocol(1);
  to.setRaftProtocol(3);
  to.setNonVoter(from.non_voter);
  to.setSerfAddress(text(from.serf_address));
}

void write(const MemberTable& from, wire::Table::Builder to) {
  to.setFrom(text(from.from));
  auto members = to.initMembers(static_cast<unsigned>(from.members.size()));
  for (unsigned at = 0; at < members.size(); ++at)
    write(from.members[at], members[at]);
  auto removed = to.initRemoved(static_cast<unsigned>(from.removed.size()));
  for (unsigned at = 0; at < removed.size(); ++at)
    removed.set(at, text(from.removed[at]));
}

Result<MemberTable> read(wire::Table::Reader from) {
  if (from.getMembers().size() > max_members || from.getRemoved().size() > max_removed)
    return Error{Errc::too_large, "the table of members has too many rows"};
  MemberTable table{.from = copy(from.getFrom()), .members = {}, .removed = {}};
  for (const auto row : from.getMembers()) {
    for (const auto words :
         {row.getId(), row.getName(), row.getRegion(), row.getDatacenter(), row.getRpcAddress(),
          row.getHttpAddress(), row.getSerfAddress(), row.getBuild(), row.getClusterId()})
      if (words.size() > most_member_text)
        return Error{Errc::too_large, "a text of a member is longer than 512 bytes"};
    if (row.getIncarnation() > most_incarnation)
      return Error{Errc::corrupt, "the incarnation of a member is beyond what any reaches"};
    if (row.getStatus() > static_cast<std::uint8_t>(MemberStatus::left))
      return Error{Errc::corrupt, "a member has an unknown status"};
    table.members.push_back({.id = copy(row.getId()),
                             .name = copy(row.getName()),
                             .region = copy(row.getRegion()),
                             .datacenter = copy(row.getDatacenter()),
                             .rpc_address = copy(row.getRpcAddress()),
                             .http_address = copy(row.getHttpAddress()),
                             .serf_address = copy(row.getSerfAddress()),
                             .build = copy(row.getBuild()),
                             .expect = row.getExpect(),
                             .cluster_id = copy(row.getClusterId()),
                             .non_voter = row.getNonVoter(),
                             .incarnation = row.getIncarnation(),
                             .status = static_cast<MemberStatus>(row.getStatus())});
  }
  for (const auto id : from.getRemoved())
    table.removed.push_back(copy(id));
  return table;
}

Result<std::vector<std::byte>> unsealed(capnp::Data::Reader sealed,
                                        const std::vector<const MemberKey*>& keys) {
  if (sealed.size() < overhead) return Error{Errc::corrupt, "a sealed table of members is cut"};
  std::vector<std::byte> plain(sealed.size() - overhead);
  const auto* nonce = sealed.begin();
  for (const auto* key : keys)
    if (crypto_secretbox_open_easy(reinterpret_cast<unsigned char*>(plain.data()),
                                   nonce + crypto_secretbox_NONCEBYTES,
                                   sealed.size() - crypto_secretbox_NONCEBYTES, nonce, key->bytes())
        == 0)
      return plain;
  return Error{Errc::permission_denied, "the other server has another \"encrypt\" key"};
}

/// Seals into `to`, which has the room.
void seal_into(capnp::Data::Builder to,
               std::span<const std::byte> plain,
               const MemberKey& key,
               const SealNonce& nonce) {
  static_assert(std::tuple_size_v<SealNonce> == crypto_secretbox_NONCEBYTES);
  std::ranges::copy(nonce, to.begin());
  crypto_secretbox_easy(to.begin() + nonce.size(),
                        reinterpret_cast<const unsigned char*>(plain.data()), plain.size(),
                        nonce.data(), key.bytes());
}

}  // namespace

MemberKey::~MemberKey() {
  sodium_memzero(bytes_.data(), bytes_.size());
}

Result<std::shared_ptr<const MemberKey>> MemberKey::from_text(std::string_view text) {
  std::array<unsigned char, 64> raw{};
  std::size_t size = 0;
  const bool read = sodium_base642bin(raw.data(), raw.size(), text.data(), text.size(), nullptr,
                                      &size, nullptr, sodium_base64_VARIANT_ORIGINAL)
                    == 0;
  if (!read || (size != 16 && size != 24 && size != 32))
    return Error{Errc::invalid_argument,
                 "\"encrypt\" must be 16, 24 or 32 bytes in base64, as \"nomadctl operator gossip "
                 "keyring generate\" makes them"};
  std::shared_ptr<MemberKey> key{new MemberKey};
  crypto_generichash(key->bytes_.data(), key->bytes_.size(), raw.data(), size, nullptr, 0);
  sodium_memzero(raw.data(), raw.size());
  return std::shared_ptr<const MemberKey>{std::move(key)};
}

std::unique_ptr<const MemberKey> MemberKey::for_use(SealedFor use) const {
  // Part of what is sealed: never changed.
  const std::string_view name
      = use == SealedFor::keyring_order ? "nomadctl keyring order" : "nomadctl keyring report";
  std::unique_ptr<MemberKey> key{new MemberKey};
  crypto_generichash(key->bytes_.data(), key->bytes_.size(),
                     reinterpret_cast<const unsigned char*>(name.data()), name.size(),
                     bytes_.data(), bytes_.size());
  return key;
}

Object<wire::Envelope> write_table(const MemberTable& table,
                                   const MemberKey* key,
                                   const SealNonce& nonce) {
  Draft<wire::Envelope> envelope;
  if (key == nullptr) {
    write(table, envelope->initPlain());
    return envelope.freeze();
  }
  Draft<wire::Table> draft;
  write(table, *draft);
  const auto plain = draft.freeze();
  const auto bytes = plain.bytes();
  seal_into(envelope->initSealed(static_cast<unsigned>(bytes.size() + overhead)),
            std::as_bytes(std::span{bytes.data(), bytes.size()}), *key, nonce);
  return envelope.freeze();
}

Result<MemberTable> read_table(wire::Envelope::Reader envelope,
                               const std::vector<const MemberKey*>& keys) {
  switch (envelope.which()) {
    case wire::Envelope::PLAIN:
      if (!keys.empty())
        return Error{Errc::permission_denied, "the other server has no \"encrypt\" key"};
      return read(envelope.getPlain());
    case wire::Envelope::SEALED: {
      if (keys.empty())
        return Error{Errc::permission_denied,
                     "the other server has an \"encrypt\" key, this one has none"};
      const auto plain = NOMAD_TRY(unsealed(envelope.getSealed(), keys));
      const auto table = NOMAD_TRY(Object<wire::Table>::from_bytes(plain));
      return read(*table);
    }
  }
  return Error{Errc::corrupt, "a table of members in an unknown form"};
}

Object<wire::Sealed> seal_bytes(std::span<const std::byte> plain,
                                const MemberKey& key,
                                SealedFor use,
                                const SealNonce& nonce) {
  Draft<wire::Sealed> draft;
  seal_into(draft->initBytes(static_cast<unsigned>(plain.size() + overhead)), plain,
            *key.for_use(use), nonce);
  return draft.freeze();
}

Result<std::vector<std::byte>> open_bytes(wire::Sealed::Reader sealed,
                                          SealedFor use,
                                          const std::vector<const MemberKey*>& keys) {
  if (keys.empty())
    return Error{Errc::permission_denied,
                 "the other server has an \"encrypt\" key, this one has none"};
  std::vector<std::unique_ptr<const MemberKey>> made;
  std::vector<const MemberKey*> for_use;
  for (const auto* key : keys)
    for_use.push_back(made.emplace_back(key->for_use(use)).get());
  return unsealed(sealed.getBytes(), for_use);
}

}  // namespace nomad::cluster
