// Membership: keeps the table of servers (runtime/cluster/members/membership.hpp) up to date by
// exchanging it with the others, and tells whoever wants to know.
//
// Owns:   the table; the join that is being retried.
// Takes:  exchanges and probes that other servers ask for (by the MethodRouter), join, leave and
// force
//         leave of operators, a timer. Tells its listeners MembersChanged; publishes a MemberView.
// Parent: server, end_owner: what it knows of others stands nowhere else.
// Ends:   by the parent's exit message; without Leave before it, the others see it fail.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "actors/core/actor.hpp"
#include "actors/rpc/transport.hpp"
#include "runtime/base/clock.hpp"
#include "runtime/cluster/members/member_codec.hpp"
#include "runtime/cluster/members/member_keyring.hpp"
#include "runtime/cluster/members/membership.hpp"
#include "schema/membership.capnp.h"

namespace nomad::server {

namespace membership {

/// A table of another server, and ours in return. `permission_denied` for another key.
struct Exchange {
  using is_message = void;
  std::string region;  ///< Of the caller, as its connection has established it.
  Object<schema::membership::Envelope> envelope;
};

struct Exchanged {
  using is_message = void;
  Object<schema::membership::Envelope> envelope;
};

/// Probes a server for another one.
struct Probe {
  using is_message = void;
  std::string address;
  std::string region;
};

struct Probed {
  using is_message = void;
  bool reached = false;
};

/// Makes itself known to the servers at these addresses, and them to us.
struct Join {
  using is_message = void;
  std::vector<std::string> addresses;
};

struct Joined {
  using is_message = void;
  std::size_t count = 0;            ///< Servers that answered.
  std::vector<std::string> errors;  ///< Of the others: "10.0.0.7:4647: connection refused".
};

struct ForceLeave {
  using is_message = void;
  std::string name;
  bool prune = false;
};

/// Tells everybody that this server leaves for good: first that it is `leaving`, so that nobody
/// relies on it any more, then, when the log goes on without it, that it has `left`. Answered when
/// they know, or after a second.
struct Leave {
  using is_message = void;
  cluster::MemberStatus status = cluster::MemberStatus::left;
};

struct Done {
  using is_message = void;
};

/// Asks something of the keyrings of all servers that are alive, this one among them.
struct ChangeKeyring {
  using is_message = void;
  cluster::KeyringAction action = cluster::KeyringAction::list;
  std::string key = {};  ///< In base64.
};

/// What has become of it. A server that did not do it has a message.
struct KeyringChanged {
  using is_message = void;
  cluster::KeyringAnswers answers;
};

/// The order of another server about this one's keyring, and the report on it. `permission_denied`
/// for an order that is for another server, not of this minute, or was obeyed already.
struct KeyringOrder {
  using is_message = void;
  Object<schema::membership::Sealed> sealed;
};

struct KeyringReport {
  using is_message = void;
  Object<schema::membership::Sealed> sealed;
};

/// What this server's log says: which cluster it belongs to, and which ids never come back. A
/// server that finds its own id among those of another server's table says so in the log.
struct UseLog {
  using is_message = void;
  std::string cluster_id;
  std::vector<std::string> removed;
};

using Members = std::shared_ptr<const std::vector<cluster::MemberInfo>>;

/// All members that are known, by name; told at first and after each change.
struct MembersChanged {
  using is_message = void;
  Members members;
};

using Listener = actor::Interface<void(MembersChanged)>;

struct AddListener {
  using is_message = void;
  Listener listener;
};

}  // namespace membership

using Membership = actor::Interface<membership::Exchanged(membership::Exchange),
                                    membership::Probed(membership::Probe),
                                    membership::Joined(membership::Join),
                                    membership::Done(membership::ForceLeave),
                                    membership::Done(membership::Leave),
                                    membership::KeyringChanged(membership::ChangeKeyring),
                                    membership::KeyringReport(membership::KeyringOrder),
                                    void(membership::UseLog),
                                    void(membership::AddListener)>;

/// The members as they are now, for any thread.
class MemberView {
public:
  membership::Members members() const {
    const std::scoped_lock lock{mutex_};
    return members_;
  }

  void set(membership::Members members) {
    const std::scoped_lock lock{mutex_};
    members_ = std::move(members);
  }

  /// Another server has said that the log goes on without this one, for good.
  bool is_removed() const { return is_removed_; }

  void set_removed() { is_removed_ = true; }

  /// Addresses of the servers of `region` that are alive.
  std::vector<std::string> servers_in(const std::string& region) const;

private:
  mutable std::mutex mutex_;
  membership::Members members_ = std::make_shared<std::vector<cluster::MemberInfo>>();
  std::atomic<bool> is_removed_{false};
};

struct MembershipActorOptions {
  cluster::MemberInfo self;
  cluster::MembershipOptions rules;
  cluster::MemberKeyring keyring;  ///< Empty: tables travel plain.
  /// Keeps the keyring where the next start finds it, durably.
  std::function<Result<>(const cluster::MemberKeyring& keyring)> keep
      = [](const cluster::MemberKeyring&) { return Result<>{}; };
  std::vector<std::string> retry_join;
  std::chrono::milliseconds retry_interval{30'000};
  std::int64_t retry_max = 0;  ///< Attempts; 0: for ever.
  std::chrono::milliseconds probe_timeout{1'000};
  std::chrono::milliseconds join_timeout{5'000};
  std::uint64_t random_seed = 0;
  /// Unix nanoseconds, by which orders about the keyring are dated.
  std::function<std::int64_t()> wall_clock = unix_now;
};

Membership spawn_membership(const actor::Owner& owner,
                            const rpc::CallTransport& transport,
                            std::shared_ptr<MemberView> view,
                            MembershipActorOptions options);

}  // namespace nomad::server
