// The samples of plugins (subprojects/plugin-*), whose files `plugin init` writes. The source is
// made by the build.
#pragma once

#include <span>
#include <string_view>

namespace nomad::cli {

struct SampleFile {
  std::string_view sample;  ///< "stamp"
  std::string_view file;    ///< "stamp.cpp"
  std::string_view text;
};

std::span<const SampleFile> plugin_samples();

}  // namespace nomad::cli
