// Rights: what somebody may do, as it follows from the credentials that he has shown. Immutable and
// shared by all requests that show the same.
//
// Pure; thread-safe, and so must rules be.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "runtime/access/capability.hpp"

namespace nomad::access {

/// What something is asked of. Nodes, agents and the cluster are of no namespace: all is empty.
struct Target {
  std::string_view ns = {};
  std::string_view path = {};  ///< Of a variable.
  std::string_view node_pool = {};
  std::string_view node = {};  ///< The one that is asked about, where it is one.
  std::string_view host_volume = {};
  std::string_view plugin = {};
};

class Rights;
using RightsRef = std::shared_ptr<const Rights>;

class Rights {
public:
  /// Whether something is allowed.
  using Rule = std::function<bool(Capability needed, const Target&)>;

  /// How rights are told to another agent. Sent as a number: never renumber.
  enum class Form : std::uint8_t {
    nothing = 0,
    everything = 1,
    rule = 2,      ///< Stays in this process.
    policies = 3,  ///< A PolicyRights (policy/policy_rights.hpp).
  };

  static const RightsRef& nothing();
  static const RightsRef& everything();
  static RightsRef by(Rule rule);

  virtual ~Rights() = default;
  Rights(const Rights&) = delete;
  Rights& operator=(const Rights&) = delete;

  bool allow(Capability needed, const Target& target) const {
    return form_ == Form::everything || (form_ != Form::nothing && decide(needed, target));
  }

  Form form() const { return form_; }

protected:
  explicit Rights(Form form) : form_{form} {}

private:
  /// Of those who have neither nothing nor everything.
  virtual bool decide(Capability, const Target&) const { return false; }

  const Form form_;
};

}  // namespace nomad::access
