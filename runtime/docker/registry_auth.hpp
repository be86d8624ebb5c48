// The credentials by which an image is pulled: of the task, of a file in the form of Docker's
// config.json, or of a program docker-credential-<name>. All but the running of programs is pure.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/docker/image_name.hpp"
#include "runtime/docker/settings.hpp"

namespace nomad::docker {

/// Runs docker-credential-<helper> with `get` and the registry as its input; what it prints.
using RunHelper
    = std::function<Result<std::string>(const std::string& helper, const std::string& registry)>;

/// Runs the program, found in the agent's PATH, for half a minute at most. Blocks.
Result<std::string> run_credential_helper(const std::string& helper, const std::string& registry);

struct AuthSources {
  Auth task;
  std::string config_file;  ///< The text of it; empty: there is none.
  std::string helper;       ///< The agent's `auth.helper`.
};

/// The first source that has some, in Nomad's order: the task, the file with its own helpers, the
/// helper; nothing when none has. Errors name the source.
Result<std::optional<Auth>> find_auth(const AuthSources& sources,
                                      const ImageName& image,
                                      const RunHelper& run);

/// What a helper printed. `corrupt` when that is nothing of its kind.
Result<std::optional<Auth>> read_helper_answer(std::string_view printed);

/// For the header X-Registry-Auth.
std::string auth_header(const Auth& auth);

}  // namespace nomad::docker
