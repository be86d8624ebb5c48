// Addresses as Go's package net/url takes them apart and puts them together: what sprig's functions
// give to templates. (runtime/artifact has one that keeps what it reads as it was written.)
#pragma once

#include <string>
#include <string_view>

#include "runtime/base/result.hpp"

namespace nomad::templates {

/// All parts but userinfo and query are decoded.
struct UrlParts {
  std::string scheme{};
  std::string userinfo{};  ///< As it stands in an address.
  std::string host{};      ///< With the port.
  std::string path{};
  std::string query{};
  std::string opaque{};  ///< Of "mailto:me": what stands in place of host and path.
  std::string fragment{};

  /// Fails in Go's words: `parse "a b://": first path segment in URL cannot contain colon`.
  static Result<UrlParts> parse(std::string_view text);

  /// Without port and brackets.
  std::string host_name() const;

  /// The address again, with escapes where it needs them.
  std::string text() const;
};

}  // namespace nomad::templates
