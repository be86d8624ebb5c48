// Url: an address as sources of artifacts and redirects write it, taken apart and put together
// again, and its query. Parts stand in it as they were written, escapes included; what is decoded
// says so. Pure.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "runtime/base/result.hpp"

namespace nomad {

/// What people see in the place of a secret.
inline constexpr std::string_view secret_mask = "xxxxx";

struct Url {
  std::string scheme;    ///< In lower case; empty: there is none.
  std::string userinfo;  ///< "user" or "user:password"; empty: none.
  std::string host;      ///< In lower case, with the port if one is given.
  std::string path;      ///< With its leading slash.
  std::string query;     ///< Without the question mark.
  std::string fragment;  ///< Without the hash.

  /// The whole, with secrets.
  std::string text() const;

  /// For people and logs: without a password, and without the values of parameters that are
  /// secrets.
  std::string shown() const;

  /// The last part of the decoded path: "app.tar.gz"; "/" or "." of an empty one, as in Go.
  std::string base_name() const;

  std::string user() const;      ///< Decoded.
  std::string password() const;  ///< Decoded.

  /// The port that is given, or the scheme's own; empty for a scheme without one.
  std::string port() const;

  /// Without port and brackets.
  std::string host_name() const;

  friend bool operator==(const Url&, const Url&) = default;
};

/// Scheme, host and port are the same: what was meant for the one may be told the other.
bool same_origin(const Url& a, const Url& b);

/// `invalid_argument` for control characters, bad escapes, spaces in a host, a port that is none,
/// and text without a scheme that begins like one.
Result<Url> parse_url(std::string_view text);

/// What `reference`, the Location of an answer, means beside `base` (RFC 3986, section 5).
Result<Url> resolve_url(const Url& base, std::string_view reference);

/// `shown` of a text that may be no URL at all: of a source as users wrote it.
std::string redact_url(std::string_view source);

/// Escapes decoded; those that are malformed stay as they are.
std::string percent_decode(std::string_view text);

/// A query's parameters, decoded. The first value of a name counts.
class UrlQuery {
public:
  static UrlQuery parse(std::string_view query);

  /// "" when it is not there.
  std::string_view get(std::string_view name) const;

  bool has(std::string_view name) const { return values_.contains(name); }

  void set(std::string_view name, std::string_view value);

  /// The value, which is gone then.
  std::string take(std::string_view name);

  const std::multimap<std::string, std::string, std::less<>>& values() const { return values_; }

  /// Sorted by name, as Go encodes it: spaces as "+".
  std::string encode() const;

private:
  std::multimap<std::string, std::string, std::less<>> values_;
};

}  // namespace nomad
