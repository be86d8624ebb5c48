// Access: whether a caller may do what he asks. `authorize` is the only judge, and the `Allowed`
// that it gives is the only proof. Decisions (runtime/cluster), the writer of the log and the view
// of the state that handlers read (actors/api/http/view.hpp) cannot be had without one, so what
// nobody judged does not compile.
//
// It is judged where the object's own namespace is known: that of the job in a request's body, of
// the allocation that was found under an id. An `Allowed` stays where it was made; what travels, in
// messages and to other agents, is the caller, and whoever gets him judges anew.
//
// May depend on: runtime/base. Pure; thread-safe, and so must policies be.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "runtime/access/caller.hpp"
#include "runtime/access/capability.hpp"
#include "runtime/base/result.hpp"

namespace nomad::access {

/// What something is asked of. Nodes, agents and the cluster are of no namespace: that is empty.
struct Target {
  std::string_view ns = {};
  std::string_view path = {};  ///< Of a variable.
};

/// The rules by which an agent judges; the error of a refusal is `permission_denied`. ACLs are to
/// be one.
using Policy = std::function<Result<>(const Caller&, Capability needed, const Target&)>;

class Allowed;

/// A caller, and the rules by which this process judges him. Cheap to copy.
class Principal {
public:
  /// Without a policy everything is allowed to everyone, as Nomad does it with ACLs off.
  Principal(Caller caller, std::shared_ptr<const Policy> policy)
      : caller_{std::make_shared<const Caller>(std::move(caller))}, policy_{std::move(policy)} {}

  /// The cluster at its own work, which nobody asked for: it may do everything. `duty` is a
  /// literal: "core_gc".
  static Principal cluster(std::string_view duty) { return Principal{duty}; }

  /// Who it is. Not of the cluster's own work.
  const Caller& caller() const { return *caller_; }

  /// For logs, as `Caller::describe`; "cluster:core_gc".
  std::string describe() const;

private:
  friend Result<Allowed> authorize(const Principal&, Capability, const Target&);

  explicit Principal(std::string_view duty) : duty_{duty} {}

  std::shared_ptr<const Caller> caller_;  ///< Null: the cluster.
  std::shared_ptr<const Policy> policy_;
  std::string_view duty_;
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

/// Whether `who` has `needed` on `target`; `permission_denied` "Permission denied" if not.
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

/// The permission for the cluster's own work.
Allowed own_work(std::string_view duty);

}  // namespace nomad::access
