#include "runtime/net/http/page_guard.hpp"

#include <algorithm>

#include "runtime/base/ip_network.hpp"
#include "runtime/base/text.hpp"
#include "runtime/net/socket.hpp"

namespace nomad::net {
namespace {

bool is_named(std::string_view host, const HostRules& rules) {
  return std::ranges::any_of(rules.names,
                             [host](const auto& name) { return same_header(host, name); });
}

bool is_known(std::string_view host, const HostRules& rules) {
  if (host.empty()) return false;
  return is_ip_address(host) || same_header(host, "localhost")
         || same_header(host, rules.advertised) || is_named(host, rules);
}

/// Whom Host names; nobody if an address in brackets is followed by anything but a port.
std::string_view named_by(std::string_view host) {
  const auto close = host.starts_with('[') ? host.find(']') : std::string_view::npos;
  const bool is_more = close != std::string_view::npos && close + 1 < host.size();
  return is_more && host[close + 1] != ':' ? std::string_view{} : host_of(host);
}

/// "https://a.example:8080" as "a.example:8080"; "" for "null" and what is no origin.
std::string_view authority_of(std::string_view origin) {
  const auto scheme = origin.find("://");
  return scheme == std::string_view::npos ? std::string_view{} : origin.substr(scheme + 3);
}

}  // namespace

std::optional<std::string> refuse_page(const Request& request, const HostRules& rules, bool acts) {
  const auto host = request.header("Host");
  const bool is_unix = request.remote == "@";
  if (rules.known_only && !is_unix && !host.empty() && !is_known(named_by(host), rules))
    return "this agent is not known as " + quote(host)
           + "; ask it by its address, or add the name to http_allowed_hosts";
  if (!acts) return {};
  const auto origin = request.header("Origin");
  const auto page = authority_of(origin);
  if (!origin.empty() && (page.empty() || !same_header(page, host))) {
    if (!page.empty() && is_named(host_of(page), rules)) return {};
    return "request origin not allowed: a page of " + quote(origin) + " may not act on "
           + quote(host) + "; add its host to http_allowed_hosts if it may";
  }
  const auto site = request.header("Sec-Fetch-Site");
  if (origin.empty() && (same_header(site, "cross-site") || same_header(site, "same-site")))
    return std::string{"a page of another origin may not act on this agent"};
  const bool reads = request.method == "GET" || request.method == "HEAD";
  if (reads && origin.empty() && site.empty()
      && request.header("User-Agent").starts_with("Mozilla/"))
    return std::string{"a browser that does not say whose page asks may not act on this agent by "}
           + request.method + "; ask by PUT";
  return {};
}

}  // namespace nomad::net
