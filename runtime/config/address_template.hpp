// The templates of go-sockaddr that configuration files have for addresses: "{{ GetPrivateIP }}",
// "{{ GetInterfaceIP \"eth0\" }}", "{{ GetAllInterfaces | include \"network\" \"10.0.0.0/8\" | attr
// \"address\" }}".
//
//   text     = { characters | "{{" stage { "|" stage } "}}" }
//   stage    = word { "\"" text "\"" }
//   sources  : GetPrivateIP GetPublicIP GetInterfaceIP, which give one address;
//              GetAllInterfaces GetDefaultInterfaces GetPrivateInterfaces GetPublicInterfaces
//   filters  : include and exclude by "name" (a regular expression), "network", "type" or "flags";
//              limit; attr and join of "address" or "name"
//
// Private and public addresses come in the order of go-sockaddr: of the interface with the default
// route first, then IPv4 first, then of the largest network first. None has to be of that
// interface.
//
// Pure: what the machine has is an argument. What is not listed here is an error.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.hpp"

namespace nomad::config {

struct LocalAddress {
  std::string interface;
  std::string ip;
  int prefix = 0;  ///< Bits of its network's mask.
  bool is_up = true;
  bool is_loopback = false;
  bool is_default = false;  ///< The interface has the default route.
};

struct LocalAddresses {
  std::vector<LocalAddress> all;

  /// Those of this machine, in its order. None if the system doesn't tell.
  static LocalAddresses read();
};

/// `text` with its templates replaced. The error says what of it is not understood, or gives
/// nothing here.
Result<std::string> expand_address(std::string_view text, const LocalAddresses& here);

}  // namespace nomad::config
