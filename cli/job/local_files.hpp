// LocalFiles: the file functions of the job language, as the user who runs a command sees the disk.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/hcl/functions/functions.hpp"

namespace nomad::cli {

class LocalFiles final : public hcl::FileAccess {
public:
  Result<std::string> read(std::string_view path) const override;
  Result<bool> exists(std::string_view path) const override;
  Result<std::vector<std::string>> glob(std::string_view path,
                                        std::string_view pattern) const override;
  Result<std::string> absolute(std::string_view path) const override;
  Result<std::string> expand_home(std::string_view path) const override;
};

}  // namespace nomad::cli
