// Access: whether a caller may do what he asks. `authorize` is the only judge, and the `Allowed`
// that it gives is the only proof. Decisions (runtime/cluster), the writer of the log and the view
// of the state that handlers read (actors/api/http/view.hpp) cannot be had without one, so what
// nobody judged does not compile. One answer is judged without: what a node asks for a task's
// templates has no principal, and cluster::for_rights goes by the task's Rights themselves.
//
// It is judged where the object's own namespace is known: that of the job in a request's body, of
// the allocation that was found under an id. An `Allowed` stays where it was made; what travels, in
// messages and to other agents, is the caller, and whoever gets him judges anew.
//
// What a principal may do stands in it when he comes here (rights.hpp), and whoever keeps one for
// long has it renewed before he judges again (Authenticator::resolve).
//
// May depend on: runtime/base. Pure; thread-safe.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "runtime/access/caller.hpp"
#include "runtime/access/capability.hpp"
#include "runtime/access/grant.hpp"
#include "runtime/access/limits.hpp"
#include "runtime/access/rights.hpp"
#include "runtime/base/result.hpp"

namespace nomad::access {

class Allowed;
class JudgementRecord;

/// A caller and what he may do. Only the Authenticator (authenticator.hpp) makes one that is not
/// the cluster itself. Cheap to copy.
class Principal {
public:
  /// The cluster at its own work, which nobody asked for: it may do everything. `duty` is a
  /// literal: "core_gc".
  static Principal cluster(std::string_view duty) { return Principal{duty}; }

  /// Who it is. Not of the cluster's own work.
  const Caller& caller() const { return *caller_; }

  /// Null: it is known who asks, and nothing of what he may do, so that he may do nothing.
  const GrantRef& grant() const { return grant_; }

  /// What he is kept to, whatever his rights are; null: nothing takes of them.
  const Limits* limits() const { return caller_ ? caller_->limits.get() : nullptr; }

  /// The user who asks by way of this agent, which passes his request on with his token: what that
  /// gives is his, and none of the agent's own proofs.
  Principal behind() const;

  /// The same, of whom each judgement in this process is noted; null: none is.
  Principal seen_by(std::shared_ptr<JudgementRecord> judged) const;

  /// For logs, as `Caller::describe`; "cluster:core_gc".
  std::string describe() const;

private:
  friend class Authenticator;
  friend Result<Allowed> authorize(const Principal&, Capability, const Target&);
  friend bool is_manager(const Principal& who);

  explicit Principal(std::string_view duty) : duty_{duty} {}

  Principal(std::shared_ptr<const Caller> caller, bool needs_token)
      : caller_{std::move(caller)}, needs_token_{needs_token} {}

  bool is_cluster() const { return !duty_.empty(); }

  std::shared_ptr<const Caller> caller_;  ///< Null of the cluster, or when it was moved away.
  GrantRef grant_;
  std::shared_ptr<JudgementRecord> judged_;
  std::string_view duty_;
  bool needs_token_ = false;  ///< As `Presented` says it.
};

/// The proof that a principal has a capability on a target. Only `authorize` makes it.
class Allowed {
public:
  /// Whether it was given for `target`. The cluster's own work is for any.
  bool is_for(const Target& target) const;

  Capability capability() const { return capability_; }

private:
  friend Result<Allowed> authorize(const Principal&, Capability, const Target&);

  Allowed(Capability capability, const Target& target, bool is_cluster);

  Capability capability_;
  bool is_cluster_;
  std::size_t target_;  ///< A hash: made for each row of a list, it must not allocate.
};

/// What everyone hears who is refused, wherever that is.
const Error& permission_denied();

/// Whether `who` has `needed` on `target`, or what opens the same: who may submit jobs may parse
/// them. `permission_denied` if not.
Result<Allowed> authorize(const Principal& who, Capability needed, const Target& target);

/// Who asks, and what he must be able to do; of what, whoever finds the object says.
struct Asking {
  Principal who;
  Capability needed;

  static Asking of_cluster(std::string_view duty) {
    return {Principal::cluster(duty), Capability::management};
  }
};

inline Result<Allowed> authorize(const Asking& asking, const Target& target) {
  return authorize(asking.who, asking.needed, target);
}

/// Whether it is a user who may do everything by his token. Not where nobody needs one.
bool is_manager(const Principal& who);

/// The permission for the cluster's own work.
Allowed own_work(std::string_view duty);

}  // namespace nomad::access
