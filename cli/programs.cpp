#include "cli/programs.hpp"

#include <filesystem>

#include <unistd.h>

#include <fmt/format.h>

namespace nomad::cli {

Result<std::string> own_path() {
  std::error_code failure;
  auto path = std::filesystem::read_symlink("/proc/self/exe", failure).string();
  if (failure) return errno_error("/proc/self/exe", failure.value());
  return path;
}

Result<std::string> find_program(std::string_view name, std::string_view built_in) {
  const auto self = NOMAD_TRY(own_path());
  const auto folder = self.substr(0, self.rfind('/'));
  // Where it is installed comes first: earlier releases put these programs beside this one, and an
  // upgrade leaves those there.
  for (const auto place : {std::string_view{"../libexec/nomadctl"}, std::string_view{"."},
                           std::string_view{".."}, built_in})
    if (auto path = fmt::format("{}/{}/{}", folder, place, name); ::access(path.c_str(), X_OK) == 0)
      return path;
  return Error{Errc::not_found, fmt::format("{} is neither beside {} nor in {}/../libexec/nomadctl",
                                            name, self, folder)};
}

}  // namespace nomad::cli
