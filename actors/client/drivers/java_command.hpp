// What the driver java runs, and what a Java machine says of itself. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "actors/client/drivers/config_reader.hpp"
#include "runtime/base/result.hpp"

namespace nomad::client {

/// The arguments of `java` for a task's `config`: the machine's options, where classes are found,
/// what is run, and its own arguments. `invalid_argument` when nothing is to be run.
Result<std::vector<std::string>> java_arguments(const ConfigReader& config);

/// All empty where the output does not tell.
struct JavaVersion {
  std::string version{};  ///< "17.0.15"
  std::string runtime{};  ///< "OpenJDK Runtime Environment (build …)"
  std::string machine{};  ///< "OpenJDK 64-Bit Server VM (build …)"
};

/// From what `java -version` prints, which environment variables may lengthen by a line.
JavaVersion parse_java_version(std::string_view output);

}  // namespace nomad::client
