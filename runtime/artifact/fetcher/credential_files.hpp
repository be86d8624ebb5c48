// Files of credentials on the host, which the operator names by the environment that
// client.artifact.set_environment_variables lets in: NETRC, or HOME for its .netrc, and
// AWS_SHARED_CREDENTIALS_FILE, or HOME for its .aws/credentials.
//
// They are read before the program confines itself, for afterwards they are out of reach; what is
// kept of them is the entry of the host, or the profile, that the source names.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "runtime/artifact/rules/credentials.hpp"
#include "runtime/artifact/rules/source.hpp"
#include "runtime/base/result.hpp"

namespace nomad::artifact {

struct Credentials {
  std::map<std::string, Login, std::less<>> logins{};  ///< By host, with its port if it has one.
  AwsKeys profile{};                                   ///< Not given: the source names none.

  /// `url` with the login of its host, if there is one and it names no user itself.
  Url with_login(Url url) const;
};

/// No file is no error where nothing asks for it by name; one that can't be read or understood is.
Result<Credentials> read_credentials(const Source& source);

}  // namespace nomad::artifact
