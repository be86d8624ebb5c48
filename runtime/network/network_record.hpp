// What an agent keeps of an allocation's network until it is taken down again: by it the next agent
// knows what the plugins were told and what they made. Pure.
//
// May depend on: runtime/base.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/network/cni_call.hpp"

namespace nomad::network {

struct NetworkRecord {
  CniNetwork network;  ///< Without plugins: a namespace and nothing in it.
  std::vector<PortMapping> mappings;
  std::string result{};      ///< Of the last plugin that has answered; JSON.
  bool is_complete = false;  ///< All plugins have answered.

  /// Nothing, if it is not complete or has no address.
  std::optional<NetworkStatus> status() const;
};

std::string to_text(const NetworkRecord& record);

/// `corrupt` for what `to_text` has not written.
Result<NetworkRecord> parse_record(std::string_view text);

}  // namespace nomad::network
