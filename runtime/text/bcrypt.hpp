// bcrypt, for the functions of job files and of templates, whose tests (functions_test,
// crypto_test) are its own.
#pragma once

#include <string>
#include <string_view>

#include "runtime/base/result.hpp"

namespace nomad {

/// Go's default.
inline constexpr int bcrypt_default_cost = 10;

/// The hash, as "$2a$10$…". `cost` is from 4 to 31, and each more takes twice the time: 10 takes
/// some 50 ms. `salt` is 16 random bytes. Errors are in the words of Go's package, where it has
/// any.
Result<std::string> bcrypt(std::string_view password, int cost, std::string_view salt);

}  // namespace nomad
