// Book: what managers have allowed in a walk (walk.hpp), as plain lists, and what follows from
// them: the judgement beside which that of the product is put. It knows of no globs, for the walks'
// rules have none.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "runtime/access/capability.hpp"

namespace nomad::properties {

/// What one line of a policy allows: in a namespace, there on a path, for a pool or of neither.
struct Right {
  access::Capability capability = access::Capability::none;
  std::string ns = {};
  std::string path = {};
  std::string pool = {};

  auto operator<=>(const Right&) const = default;
};

struct PlainPolicy {
  std::set<Right> rights;
  std::set<std::string> denied;  ///< Namespaces in which nothing is allowed but variables.
};

/// The rules of a policy as people write them.
std::string rules_of(const PlainPolicy& policy);

/// Whom a token makes somebody.
struct Holder {
  std::set<std::string> policies;  ///< Names, also of those that there are not.
  std::set<std::string> roles;     ///< Ids.
};

struct PlainRole {
  std::string name;
  std::set<std::string> policies;
};

/// A binding rule of the walks' only method: for the user, or for everybody who has none.
struct PlainBinding {
  std::string user;
  std::string type;  ///< "policy", "role" or "management".
  std::string name;
};

struct Book {
  std::map<std::string, PlainPolicy> policies;   ///< By name.
  std::map<std::string, PlainRole> roles;        ///< By id.
  std::map<std::string, Holder> tokens;          ///< By accessor; of client tokens.
  std::map<std::string, PlainBinding> bindings;  ///< By id.
  std::uint64_t version = 0;                     ///< Another one after each change.

  /// Whether somebody is allowed something, or what includes it.
  bool may(const Holder& holder, const Right& right) const;

  /// What a login of the user is bound to.
  Holder bound(const std::string& user) const;
};

}  // namespace nomad::properties
