#include "cli/programs.hpp"

#include <algorithm>
#include <filesystem>

#include <unistd.h>

#include <fmt/format.h>

namespace nomad::cli {
namespace {

std::string_view called_as = "nomadctl";

}  // namespace

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

std::string_view program_name() {
  return called_as;
}

void note_program_name(std::string_view path) {
  called_as = path.substr(path.rfind('/') + 1) == "nomad" ? "nomad" : "nomadctl";
}

std::string as_called(std::string_view text) {
  constexpr std::string_view own = "nomadctl ";
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const auto found = std::min(text.find(own, at), text.size());
    out += text.substr(at, found - at);
    if (found < text.size()) out.append(called_as).append(" ");
    at = found + own.size();
  }
  return out;
}

}  // namespace nomad::cli
