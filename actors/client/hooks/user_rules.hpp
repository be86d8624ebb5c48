// UserRules: as whom tasks may not run, by `user.denylist` and `user.checked_drivers` of the
// client's options.
#pragma once

#include <map>
#include <set>
#include <string>

namespace nomad::client {

struct UserRules {
  std::set<std::string, std::less<>> refused{"root", "Administrator"};
  std::set<std::string, std::less<>> drivers{"exec", "qemu", "java"};  ///< That are held to it.
};

/// From `client { options { … } }`: lists with commas. An empty list refuses nobody.
UserRules read_user_rules(const std::map<std::string, std::string>& options);

}  // namespace nomad::client
