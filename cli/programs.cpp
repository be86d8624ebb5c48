#include "cli/programs.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>

#include <unistd.h>

#include <fmt/format.h>

#include "runtime/base/text.hpp"
#include "runtime/host/process/spawn.hpp"

namespace nomad::cli {
namespace {

std::string_view called_as = "nomadctl";

/// The end of a word of the command line, from `value` on.
void overwrite(char* value) {
  std::fill_n(value, std::strlen(value), 'x');
}

bool is_of_secret(std::string_view flag) {
  return flag.ends_with("token") || flag == "encrypt";
}

/// A header of a request, alone or behind its flag: `-H=Authorization: Bearer x`.
bool is_secret_header(std::string_view word) {
  const auto colon = word.find(':');
  if (colon == std::string_view::npos) return false;
  const auto name = to_lower(word.substr(0, colon));
  return name.ends_with("x-nomad-token") || name.ends_with("authorization");
}

/// The value of a flag, in its own word or in the next one; null without one.
char* value_of(int count, char** words, int at, std::string_view flag) {
  const std::string_view word{words[at]};
  const auto rest = word.substr(word.starts_with("--") ? 2 : 1);
  if (rest == flag) return at + 1 < count ? words[at + 1] : nullptr;
  if (!rest.starts_with(flag) || rest[flag.size()] != '=') return nullptr;
  return words[at] + word.size() - (rest.size() - flag.size() - 1);
}

/// Whether that is a configuration itself, and not where it is: auth methods' hold a secret.
bool is_configuration(const char* value) {
  return value != nullptr && *value != '@' && *value != '-' && std::strchr(value, '{') != nullptr;
}

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
  for (const auto location : {std::string_view{"../libexec/nomadctl"}, std::string_view{"."},
                              std::string_view{".."}, built_in})
    if (auto path = fmt::format("{}/{}/{}", folder, location, name);
        ::access(path.c_str(), X_OK) == 0)
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

void hide_secrets(int count, char** words) {
  for (int at = 1; at < count; ++at) {
    const std::string_view word{words[at]};
    if (is_secret_header(word)) overwrite(words[at]);
    if (word.size() < 2 || word[0] != '-') continue;
    if (char* const value = value_of(count, words, at, "config"); is_configuration(value))
      overwrite(value);
    const std::size_t dashes = word[1] == '-' ? 2 : 1;
    const auto equals = std::min(word.find('='), word.size());
    if (!is_of_secret(word.substr(dashes, equals - dashes))) continue;
    if (equals < word.size())
      overwrite(words[at] + equals + 1);
    else if (at + 1 < count)
      overwrite(words[++at]);
  }
}

std::vector<std::string> environment_without_secrets() {
  constexpr std::array secrets{
      std::string_view{"NOMAD_TOKEN="}, std::string_view{"NOMAD_HTTP_AUTH="},
      std::string_view{"CONSUL_HTTP_TOKEN="}, std::string_view{"CONSUL_HTTP_AUTH="},
      std::string_view{"VAULT_TOKEN="}};
  auto environment = host::own_environment();
  std::erase_if(environment, [&secrets](const std::string& one) {
    return std::ranges::any_of(secrets, [&one](auto secret) { return one.starts_with(secret); });
  });
  return environment;
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
