// Keyring: opens and makes root keys, and seals variables with them.
//
// The keyring itself is replicated state: each root key is a row (schema RootKey) that travels in
// the log and in snapshots, so a new leader has every key that the old one had, at the same index.
// A row holds the key wrapped, once for each recipient:
//   - each server, with the public half of a key pair whose secret half is a file that never leaves
//     that server's disk (key_files.hpp; the public half is a KeyHolder row);
//   - the holders of the configured secret `server.encrypt`, if there is one. Its fingerprint is in
//     the recipient's name, so that a changed secret gets a wrap of its own;
//   - an external wrapping key (wrapping_key.hpp), where servers are configured with one. Then
//   servers
//     that say that they can use it get no wrap of their own, and the secret none.
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

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/base/result.hpp"
#include "runtime/keyring/unwrap_attempts.hpp"
#include "runtime/keyring/wrap_plan.hpp"
#include "runtime/object/object.hpp"
#include "runtime/security/seal.hpp"
#include "runtime/security/variable_items.hpp"
#include "runtime/security/wrapping_key.hpp"
#include "schema/variable.capnp.h"

namespace nomad::security {

/// What the API shows as a key's algorithm.
inline constexpr std::string_view algorithm = "xchacha20-poly1305";

/// Kinds of what secrets belong to that are no variable's. Part of what is sealed: never changed.
inline constexpr std::string_view token_seal = "acl token";
inline constexpr std::string_view auth_method_seal = "acl auth method";
inline constexpr std::string_view csi_volume_seal = "csi volume";

/// What a secret belongs to.
struct SecretLocation {
  std::string_view kind;
  std::string_view name;
};

struct KeyringOptions {
  std::string server_id;            ///< Names this server's wraps.
  std::string directory = {};       ///< Of the key files; empty: the pair lives in memory only.
  std::string cluster_secret = {};  ///< `server.encrypt`, base64 of 16, 24 or 32 bytes; or empty.
  FillRandom random = system_random();
  WrappingKeys wrapping = {};
  /// Steady nanoseconds, by which a wrapping key that failed is left alone for some seconds; empty:
  /// it is asked each time.
  std::function<std::int64_t()> clock = {};
};

/// Whether a server can unwrap a root key. `not_yet`: a wrapping key has been asked, or could not
/// be.
enum class Opening : std::uint8_t { yes, not_yet, no };

class Keyring : public std::enable_shared_from_this<Keyring> {
public:
  using Holders = std::vector<Object<schema::KeyHolder>>;
  using Row = std::function<void(Result<Object<schema::RootKey>>)>;

  static Result<std::shared_ptr<Keyring>> open(KeyringOptions options);

  using Rows = std::vector<Object<schema::RootKey>>;

  /// This server's row, for the state to know it by. Of its wrapping keys it has those in files,
  /// those that have unwrapped something for it, and those that `known`, its row until now, has.
  Object<schema::KeyHolder> holder(const Object<schema::KeyHolder>& known = {}) const;

  /// Tries the wrapping keys that are missing there, by what they have wrapped of these keys.
  /// False: one of them has been asked something and has not answered yet.
  bool try_wrapping_keys(const Rows& keys, const Object<schema::KeyHolder>& known);

  /// A new key, wrapped for `holders`, this server and the cluster's secret: active, or with a time
  /// (Unix nanoseconds) to be so from then on.
  Object<schema::RootKey> make_root_key(std::string_view id,
                                        std::int64_t now,
                                        const Holders& holders,
                                        std::int64_t publish_time = 0);

  /// The same where an external wrapping key wraps: `done` has the row, perhaps before this
  /// returns, or later on any thread, or why the key could not be wrapped; not after this object
  /// has gone.
  void make_root_key(std::string_view id,
                     std::int64_t now,
                     const Holders& holders,
                     std::int64_t publish_time,
                     Row done);

  /// Whether this server can unwrap `key`. Asks wrapping keys for what they have wrapped, and keeps
  /// what comes of it.
  Opening opening(const Object<schema::RootKey>& key);

  /// The same of a key that may be another cluster's: nothing is asked or kept, and what says that
  /// it is a wrap of a wrapping key of this server is believed to be.
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

  /// Whether a rewrap would change `key`, with no wrapping key asked.
  bool lacks_wraps(const Object<schema::RootKey>& key,
                   const Holders& holders,
                   OtherSecrets others) const;

  /// Whether this server's external wrapping key is active and has not wrapped `key`.
  bool lacks_wrap(const Object<schema::RootKey>& key) const;

  /// The same, and with a wrap by this server's external wrapping key if that is active and there
  /// is none, for which it is asked. `done` as of `make_root_key`; an empty row: nothing is to be
  /// changed.
  void rewrap(const Object<schema::RootKey>& key,
              const Holders& holders,
              OtherSecrets others,
              Row done);

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

  /// A secret's nonce and ciphertext, of a location that `open_secret` must be told again.
  Result<Bytes> seal_secret(const Object<schema::RootKey>& key,
                            const SecretLocation& location,
                            std::string_view secret);

  Result<Secret> open_secret(const Object<schema::RootKey>& key,
                             const SecretLocation& location,
                             capnp::Data::Reader sealed);

  /// A key for one purpose, the same on every server that opens `key`.
  Result<Secret> derive(const Object<schema::RootKey>& key, std::string_view purpose);

private:
  explicit Keyring(KeyringOptions options) : options_{std::move(options)} {}

  Result<std::shared_ptr<const Secret>> material(const Object<schema::RootKey>& key);

  struct Wrap {
    std::string recipient;
    Bytes sealed;
  };

  /// A key whose wraps are being made. It counts as opened once its row is in use.
  struct Begun {
    Object<schema::RootKey> row;
    std::shared_ptr<const Secret> root_key;
    Holders holders;
  };

  struct Unwrapping {
    std::shared_ptr<WrappingKey> by;
    std::string recipient;
    std::span<const std::byte> sealed;  ///< In the row.
  };

  using AttemptName = keyring::UnwrapAttempts::Name;

  std::vector<std::shared_ptr<WrappingKey>> wrapping_keys() const;
  std::vector<Unwrapping> unwrappings(schema::RootKey::Reader key) const;
  bool begin_attempt(const AttemptName& name, bool is_local);
  void fail_attempt(const AttemptName& name, Error failure);
  std::optional<Error> last_failure(const AttemptName& name) const;
  void ask(const Unwrapping& one, const std::string& id);
  void prove(const std::string& name);
  void try_key(const std::shared_ptr<WrappingKey>& by, const Rows& keys);
  void wrap_elsewhere(const Begun& begun, OtherSecrets others, Row done);
  void keep_fresh(std::string_view id, std::shared_ptr<const Secret> root_key);
  Result<Secret> unwrap_root_key(schema::RootKey::Reader key) const;
  Result<std::shared_ptr<const Secret>> unwrap_elsewhere(const Object<schema::RootKey>& key);
  std::shared_ptr<const Secret> keep(std::string_view id, Secret root_key);
  Begun begin_root_key(std::string_view id,
                       std::int64_t now,
                       const Holders& holders,
                       std::int64_t publish_time);
  keyring::WrapFacts wrap_facts(schema::RootKey::Reader key,
                                const Holders& holders,
                                OtherSecrets others,
                                bool has_wrapped) const;
  Object<schema::RootKey> rewrapped(const Object<schema::RootKey>& key,
                                    const Secret& root_key,
                                    const Holders& holders,
                                    OtherSecrets others,
                                    std::optional<Bytes> made);
  Result<Bytes> wrap_root_key(std::string_view recipient,
                              std::span<const std::byte> public_key,
                              std::string_view key_id,
                              const Secret& root_key);

  KeyringOptions options_;
  std::vector<KeyPair> pairs_;  ///< This server's own first.
  Secret cluster_key_;          ///< Empty without a configured secret.
  std::string cluster_recipient_;

  mutable std::mutex guard_;
  std::map<std::string, std::shared_ptr<const Secret>, std::less<>> opened_;
  /// Were made here, the latest first, and move to those above when their rows are used.
  std::deque<std::pair<std::string, std::shared_ptr<const Secret>>> fresh_;
  keyring::UnwrapAttempts attempts_;
};

}  // namespace nomad::security
