// Credentials that an operator keeps in files for many hosts and accounts: netrc, and the shared
// credentials of AWS. Of a file one entry is wanted, and no other one is kept.
//
// Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "runtime/artifact/rules/s3.hpp"
#include "runtime/base/result.hpp"

namespace nomad::artifact {

struct Login {
  std::string user;
  std::string password;

  friend bool operator==(const Login&, const Login&) = default;
};

/// What a netrc file has for `host` ("example.org", "example.org:8080", as the address has it), or
/// else for any ("default"). `invalid_argument` for a file that is none; it shows nothing of it.
Result<std::optional<Login>> find_login(std::string_view netrc, std::string_view host);

/// The keys of a profile: "[name]", then lines of "aws_access_key_id = …" and its like.
/// `not_found` where the profile is not there or lacks a key.
Result<AwsKeys> find_profile(std::string_view file, std::string_view profile);

}  // namespace nomad::artifact
