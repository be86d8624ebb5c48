// Keyring: opens and makes root keys, and seals variables with them.
//
// The keyring itself is replicated state: each root key is a row (schema RootKey) that travels in
// the log and in snapshots, so a new leader has every key that the old one had, at the same index.
// A row holds the key wrapped, once for each recipient:
//   - each server, with the public half of a key pair whose secret half is a file that never leaves
//     that server's disk (key_files.hpp; the public half is a KeyHolder row);
//   - the holders of the configured secret `server.encrypt`, if there is one. Its fingerprint is in
//     the recipient's name, so that a changed secret gets a wrap of its own.
// So neither the log nor a snapshot alone betrays a variable, no key ever travels unwrapped, and
// what a restored snapshot holds can be read as long as one server's key file or the configured
// secret has survived. (Nomad keeps the keys themselves in files of every server, which a new
// leader may lack and a snapshot never has.)
//
// (1) A key that was unwrapped once is kept, by its id, until this object goes.
// (2) A wrap names the id of its key inside, so that wraps of two keys cannot change places.
// (3) A variable is sealed with its namespace, its path and its key's id as associated data; a
//     secret of access control with its kind, the name of what it belongs to, and the key's id.
//
// Thread-safe. Draws randomness from what it was given.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.hpp"
#include "runtime/object/object.hpp"
#include "runtime/security/seal.hpp"
#include "runtime/security/variable_items.hpp"
#include "schema/variable.capnp.h"

namespace nomad::security {

/// What the API shows as a key's algorithm.
inline constexpr std::string_view algorithm = "xchacha20-poly1305";

/// Kinds of what secrets of access control belong to. Part of what is sealed: never changed.
inline constexpr std::string_view token_seal = "acl token";
inline constexpr std::string_view auth_method_seal = "acl auth method";

/// What a secret belongs to.
struct SecretPlace {
  std::string_view kind;
  std::string_view name;
};

struct KeyringOptions {
  std::string server_id;            ///< Names this server's wraps.
  std::string directory = {};       ///< Of the key files; empty: the pair lives in memory only.
  std::string cluster_secret = {};  ///< `server.encrypt`, base64 of 16, 24 or 32 bytes; or empty.
  FillRandom random = system_random();
};

class Keyring {
public:
  using Holders = std::vector<Object<schema::KeyHolder>>;

  static Result<std::shared_ptr<Keyring>> open(KeyringOptions options);

  /// This server's row, for the state to know it by.
  Object<schema::KeyHolder> holder() const;

  /// A new key, wrapped for `holders`, this server and the cluster's secret: active, or with a time
  /// (Unix nanoseconds) to be so from then on.
  Object<schema::RootKey> make_root_key(std::string_view id,
                                        std::int64_t now,
                                        const Holders& holders,
                                        std::int64_t publish_time = 0);

  /// Whether this server can unwrap `key`.
  bool opens(const Object<schema::RootKey>& key) const;

  /// What becomes of wraps for secrets other than this server's. While a secret is being changed,
  /// servers differ: the leader's is the one that counts, or two servers would undo each other's
  /// wraps for ever.
  enum class OtherSecrets : std::uint8_t {
    keep,  ///< And this server's own secret gets a wrap only if none has.
    drop,  ///< By the leader. Without a secret of its own it keeps them.
  };

  /// `key` with what its wraps lack for `holders` and the cluster's secret, and without wraps for
  /// those who are no holders any more; empty when nothing is to be changed or `key` does not open.
  Object<schema::RootKey> rewrap(const Object<schema::RootKey>& key,
                                 const Holders& holders,
                                 OtherSecrets others);

  /// A row with the items sealed; its indexes are 0 and both times are `now`.
  Result<Object<schema::Variable>> seal_variable(const Object<schema::RootKey>& key,
                                                 std::string_view ns,
                                                 std::string_view path,
                                                 const Secret& encoded_items,
                                                 std::int64_t now);

  /// What `variable` holds, as `decode_items` reads it. `key` is the row of its key id; `corrupt`
  /// when it is empty, is not for this server, or the seal is broken.
  Result<Secret> open_variable(const Object<schema::RootKey>& key,
                               const Object<schema::Variable>& variable);

  /// A secret's nonce and ciphertext, of a place that `open_secret` must be told again.
  Result<Bytes> seal_secret(const Object<schema::RootKey>& key,
                            const SecretPlace& place,
                            std::string_view secret);

  Result<Secret> open_secret(const Object<schema::RootKey>& key,
                             const SecretPlace& place,
                             capnp::Data::Reader sealed);

  /// A key for one purpose, the same on every server that opens `key`.
  Result<Secret> derive(const Object<schema::RootKey>& key, std::string_view purpose);

private:
  explicit Keyring(KeyringOptions options) : options_{std::move(options)} {}

  Result<std::shared_ptr<const Secret>> material(const Object<schema::RootKey>& key);
  Result<Secret> unwrap_root_key(schema::RootKey::Reader key) const;
  Result<Bytes> wrap_root_key(std::string_view recipient,
                              std::span<const std::byte> public_key,
                              std::string_view key_id,
                              const Secret& root_key);

  KeyringOptions options_;
  std::vector<KeyPair> pairs_;  ///< This server's own first.
  Secret cluster_key_;          ///< Empty without a configured secret.
  std::string cluster_recipient_;

  std::mutex guard_;
  std::map<std::string, std::shared_ptr<const Secret>, std::less<>> opened_;
};

}  // namespace nomad::security
