#include "runtime/net/http/page_guard.hpp"

#include <algorithm>

#include "runtime/base/ip_network.hpp"
#include "runtime/base/text.hpp"
#include "runtime/net/socket.hpp"

namespace nomad::net {
namespace {

bool is_one_of(std::string_view host, const std::vector<std::string>& names) {
  return std::ranges::any_of(names, [host](const auto& name) { return same_header(host, name); });
}

bool is_known(std::string_view host, const HostRules& rules) {
  if (host.empty()) return false;
  return is_ip_address(host) || same_header(host, "localhost") || is_one_of(host, rules.advertised)
         || is_one_of(host, rules.names);
}

/// Whom Host names; nobody if it is anything but a host, with or without a port.
std::string_view named_by(std::string_view host) {
  const auto close = host.starts_with('[') ? host.find(']') : 0;
  if (close == std::string_view::npos) return {};
  const auto colon = host.find(':', close);
  const auto name_size = std::min(colon, host.size());
  const bool is_bracketed = host.starts_with('[') && close + 1 == name_size;
  if (host.starts_with('[') && !is_bracketed) return {};
  if (colon != std::string_view::npos && !std::ranges::all_of(host.substr(colon + 1), is_digit))
    return {};
  return is_bracketed ? host.substr(1, close - 1) : host.substr(0, name_size);
}

/// The header's value; nothing if there is none. What a browser sends once cannot come twice: then
/// it is a value that nobody has.
std::optional<std::string_view> only(const Request& request, std::string_view name) {
  std::optional<std::string_view> found;
  for (std::size_t at = 0; at < request.header_count(); ++at) {
    const auto [field, value] = request.header_at(at);
    if (same_header(field, name)) found = found ? "twice" : value;
  }
  return found;
}

/// Whether a browser says that the user himself or a page of this agent asks.
bool is_own_site(std::string_view site) {
  return same_header(site, "none") || same_header(site, "same-origin");
}

/// "https://a.example:8080" as "a.example:8080"; "" for "null" and what is no origin.
std::string_view authority_of(std::string_view origin) {
  const auto scheme = origin.find("://");
  return scheme == std::string_view::npos ? std::string_view{} : origin.substr(scheme + 3);
}

}  // namespace

std::optional<std::string> refuse_page(const Request& request, const HostRules& rules, bool acts) {
  const auto given = only(request, "Host");
  const auto host = given.value_or("");
  const bool is_unix = request.remote.starts_with('@');
  if (rules.known_only && !is_unix && given && !is_known(named_by(host), rules))
    return "this agent is not known as " + quote(host)
           + "; ask it by its address, or add the name to http_allowed_hosts";
  if (!acts) return {};
  const auto origin = only(request, "Origin").value_or("");
  const auto page = authority_of(origin);
  if (!origin.empty() && (page.empty() || !same_header(page, host))) {
    if (!page.empty() && is_one_of(host_of(page), rules.names)) return {};
    return "request origin not allowed: a page of " + quote(origin) + " may not act on "
           + quote(host) + "; add its host to http_allowed_hosts if it may";
  }
  const auto site = only(request, "Sec-Fetch-Site").value_or("");
  if (!site.empty() && !is_own_site(site))
    return std::string{"a page of another origin may not act on this agent"};
  const bool reads = request.method == "GET" || request.method == "HEAD";
  if (reads && origin.empty() && site.empty()
      && request.header("User-Agent").starts_with("Mozilla/"))
    return std::string{"a browser that does not say whose page asks may not act on this agent by "}
           + request.method + "; ask by PUT";
  return {};
}

}  // namespace nomad::net
