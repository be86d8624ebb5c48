#include "runtime/net/http/error_status.hpp"

#include <utility>

namespace nomad::net {
namespace {

constexpr std::pair<Errc, unsigned> statuses[] = {
    {Errc::rejected, 400},
    {Errc::invalid_argument, 400},
    {Errc::permission_denied, 403},
    {Errc::not_found, 404},
    {Errc::conflict, 409},
    {Errc::too_large, 413},
    {Errc::overloaded, 429},
    {Errc::internal, 500},
    {Errc::cancelled, 500},
    {Errc::unavailable, 500},
    {Errc::io, 500},
    {Errc::corrupt, 500},
    {Errc::no_leader, 500},  // Nomad's web page knows it by 500 and its text
    {Errc::timeout, 504},
};

}  // namespace

unsigned http_status(Errc code) {
  for (const auto& [each, status] : statuses)
    if (each == code) return status;
  return 500;
}

Errc code_of_status(unsigned status) {
  for (const auto& [code, each] : statuses)
    if (each == status) return code;
  return status < 500 ? Errc::rejected : Errc::internal;
}

}  // namespace nomad::net
