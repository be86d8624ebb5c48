// ImageName: what a task's `image` says: where the image comes from and which one it is. Pure.
#pragma once

#include <string>
#include <string_view>

#include "runtime/base/result.hpp"

namespace nomad::docker {

struct ImageName {
  std::string repository;  ///< With the registry: "quay.io/team/web".
  std::string tag{};       ///< "latest" if neither a tag nor a digest was said.
  std::string digest{};    ///< "sha256:…"; it counts, whatever the tag is.

  /// As people and the engine write it: "redis:7", "redis@sha256:…".
  std::string text() const;
};

/// `invalid_argument` for what no engine could take: empty, with white space or control characters,
/// or longer than 1,024 bytes.
Result<ImageName> parse_image_name(std::string_view image);

/// Whose credentials are needed: "docker.io", "quay.io", "localhost:5000".
std::string registry_of(const ImageName& image);

}  // namespace nomad::docker
