// IP addresses as text.
#pragma once

#include <string_view>

namespace nomad {

/// Whether `text` is an IPv4 or IPv6 address: "10.0.0.1", "::1", without brackets and port.
bool is_ip_address(std::string_view text);

/// Whether `host` names this machine and no other: 127.0.0.0/8, ::1 or "localhost", in any case.
bool is_loopback(std::string_view host);

}  // namespace nomad
