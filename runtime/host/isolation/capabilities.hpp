// Capabilities: the sets of Linux capabilities that tasks get, by the rules and names of Nomad.
// Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.hpp"

namespace nomad::host {

/// A set; the bit of a capability is its number in linux/capability.h.
class CapabilitySet {
public:
  constexpr CapabilitySet() = default;

  constexpr explicit CapabilitySet(std::uint64_t bits) : bits_{bits} {}

  constexpr std::uint64_t bits() const { return bits_; }

  constexpr bool empty() const { return bits_ == 0; }

  constexpr bool contains(unsigned capability) const { return (bits_ >> capability & 1) != 0; }

  constexpr CapabilitySet operator|(CapabilitySet other) const {
    return CapabilitySet{bits_ | other.bits_};
  }

  constexpr CapabilitySet operator&(CapabilitySet other) const {
    return CapabilitySet{bits_ & other.bits_};
  }

  constexpr CapabilitySet without(CapabilitySet other) const {
    return CapabilitySet{bits_ & ~other.bits_};
  }

  friend bool operator==(CapabilitySet, CapabilitySet) = default;

private:
  std::uint64_t bits_ = 0;
};

/// All that Nomad 1.6 knows: those up to CAP_CHECKPOINT_RESTORE.
CapabilitySet all_capabilities();

/// What a task gets without being told otherwise: Docker's defaults without NET_RAW.
CapabilitySet default_capabilities();

/// What a task of the user root has, whatever is configured: those of Linux when Nomad began.
CapabilitySet root_capabilities();

/// A set of names: "NET_RAW", "cap_net_raw", "all"; empty ones are nothing. `invalid_argument`
/// names those that there are not, as "cap_foo, bar".
Result<CapabilitySet> parse_capabilities(std::span<const std::string> names);

/// "chown, kill": in the order of the alphabet.
std::string to_text(CapabilitySet set);

struct CapabilityRequest {
  CapabilitySet allowed{};  ///< `allow_caps` of the driver.
  CapabilitySet added{};    ///< `cap_add` of the task.
  CapabilitySet dropped{};  ///< `cap_drop` of the task.
};

/// ((defaults and allowed) without dropped) and added. `rejected` when some are added that are not
/// allowed.
Result<CapabilitySet> task_capabilities(const CapabilityRequest& wishes);

}  // namespace nomad::host
