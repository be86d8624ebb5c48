// WrappingKey: a key outside of the cluster that wraps root keys: in a file, or in a service that
// is asked over the network (Vault's transit engine, a KMS). Who has the servers' disks, or a
// snapshot, and not this key, has none of the root keys.
//
// Answers may come before the call returns, or later on any thread; each comes once. An object
// outlives the calls under way, however they end.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.hpp"
#include "runtime/security/seal.hpp"
#include "runtime/security/secret.hpp"

namespace nomad::security {

class WrappingKey {
public:
  using Wrapped = std::function<void(Result<Bytes>)>;
  using Unwrapped = std::function<void(Result<Secret>)>;

  virtual ~WrappingKey() = default;

  /// Names what it wraps, in the state: "keyring file 1f0e…". Another key has another name.
  virtual const std::string& name() const = 0;

  /// Whether it answers before a call returns, without asking anybody. Its name is proof enough
  /// that a server has it.
  virtual bool is_local() const { return false; }

  /// Whether what has that recipient's name may be a wrap of this key: what is asked to unwrap it.
  virtual bool may_unwrap(std::string_view recipient) const { return recipient == name(); }

  /// Wraps `content` for `place`, which `unwrap` must be told again.
  virtual void wrap(std::string_view location, const Secret& content, Wrapped done) = 0;

  /// `corrupt` when it is not what this key has wrapped; other errors may pass.
  virtual void unwrap(std::string_view location, std::span<const std::byte> sealed, Unwrapped done)
      = 0;
};

/// What a server is configured with.
struct WrappingKeys {
  std::shared_ptr<WrappingKey> active = {};  ///< Wraps; null: servers wrap for each other.
  std::vector<std::shared_ptr<WrappingKey>> others = {};  ///< Unwrap what they have wrapped once.
};

struct FileKeyOptions {
  std::string path;     ///< 32 bytes as base64, mode 0600.
  bool create = false;  ///< Made, durably, if it is not there.
};

/// The key in a file. Errors name the file: `not_found`, `io`, `corrupt` (not a key),
/// `permission_denied` (others can read it).
Result<std::shared_ptr<WrappingKey>> open_file_key(const FileKeyOptions& options,
                                                   const FillRandom& random);

}  // namespace nomad::security
