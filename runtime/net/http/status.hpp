// The statuses of HTTP that this program answers with or looks for, by their names in RFC 9110.
#pragma once

namespace nomad::net::status {

inline constexpr unsigned switching_protocols = 101;
inline constexpr unsigned ok = 200;
inline constexpr unsigned no_content = 204;
inline constexpr unsigned not_modified = 304;
inline constexpr unsigned temporary_redirect = 307;
inline constexpr unsigned bad_request = 400;  ///< And above: a refusal.
inline constexpr unsigned unauthorized = 401;
inline constexpr unsigned forbidden = 403;
inline constexpr unsigned not_found = 404;
inline constexpr unsigned method_not_allowed = 405;
inline constexpr unsigned too_many_requests = 429;
inline constexpr unsigned internal_error = 500;  ///< And above: not the request's fault.
inline constexpr unsigned not_implemented = 501;
inline constexpr unsigned service_unavailable = 503;

}  // namespace nomad::net::status
