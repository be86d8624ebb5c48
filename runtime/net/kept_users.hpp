// KeptUsers: users of this machine whose connections are kept to something (access::Limits),
// because what runs as them is not trusted with all that the agent's ports give: plugins with a
// user of their own. Their words count for whoever connects as that user.
//
// Thread-safe.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include <sys/types.h>

#include "runtime/base/result.hpp"

namespace nomad::net {

class KeptUsers {
public:
  /// What runs as `user` for `whom` is kept to `words`, as long as there is this object and no
  /// other words come: what `whom` has left may outlive it. The agent's own user is kept to
  /// nothing. The error: the kernel does not say whose connections are, so that nobody can be kept.
  Result<> keep(const std::string& whom, uid_t user, std::string words);

  /// What the process at the other end of a connection is kept to; "": nothing. With users in
  /// common what all of them have: nothing but what everybody may do, unless all have the same
  /// words.
  std::string limits_of(int socket) const;

private:
  std::string words_of(uid_t user) const;

  mutable std::mutex guard_;
  std::map<std::pair<uid_t, std::string>, std::string> kept_;  ///< Words, by user and for whom.
};

/// Whose the process at the other end of a connection is; nothing: it is none of this machine. An
/// error: the kernel does not say, as of one that has come to this machine by its own translation
/// of addresses.
Result<std::optional<uid_t>> user_of_peer(int socket);

}  // namespace nomad::net
