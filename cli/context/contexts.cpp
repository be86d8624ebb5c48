#include "cli/context/contexts.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "cli/input.hpp"
#include "cli/new_file.hpp"
#include "runtime/base/text.hpp"
#include "runtime/object/json_codec.hpp"

namespace nomad::cli {
namespace {

constexpr std::size_t most_file_bytes = 1 << 20;
constexpr mode_t of_user_alone = 0600;

/// The members of a context by their names in the file.
constexpr std::pair<std::string_view, std::string Context::*> texts[] = {
    {"address", &Context::address},       {"region", &Context::region},
    {"namespace", &Context::ns},          {"ca_cert", &Context::ca_cert},
    {"ca_path", &Context::ca_path},       {"client_cert", &Context::client_cert},
    {"client_key", &Context::client_key}, {"tls_server_name", &Context::tls_server_name},
};

Result<std::string> contexts_file() {
  return NOMAD_TRY(contexts_folder()) + "/contexts";
}

Result<std::string> token_file(const std::string& context) {
  NOMAD_TRY(check_context_name(context));
  return fmt::format("{}/tokens/{}", NOMAD_TRY(contexts_folder()), context);
}

/// In place of what was there, whole or not at all.
Result<> replace_file(const std::string& path, std::string_view text) {
  std::error_code failure;
  const auto folder = path.substr(0, path.rfind('/'));
  if (std::filesystem::create_directories(folder, failure))
    std::filesystem::permissions(folder, std::filesystem::perms::owner_all, failure);
  if (failure) return errno_error(folder, failure.value());
  const auto next = fmt::format("{}.{}", path, ::getpid());
  NOMAD_TRY(write_new(next, text, of_user_alone));
  if (std::rename(next.c_str(), path.c_str()) == 0) return {};
  const auto why = errno_error(path, errno);
  std::remove(next.c_str());
  return why;
}

bool is_there(const std::string& path) {
  return ::access(path.c_str(), F_OK) == 0;
}

}  // namespace

Result<Contexts> contexts_of(std::string_view text) {
  const auto file = NOMAD_TRY(parse_json(text));
  const View view{file};
  Contexts contexts{.current = view["current"].text(), .all = {}};
  for (const auto& [name, one] : view["contexts"].members()) {
    NOMAD_TRY(check_context_name(name));
    auto& context = contexts.all[name];
    for (const auto& [member, target] : texts)
      context.*target = one[member].text();
    context.tls_skip_verify = one["tls_skip_verify"].truth();
  }
  return contexts;
}

std::string text_of(const Contexts& contexts) {
  boost::json::object all;
  for (const auto& [name, context] : contexts.all) {
    boost::json::object one;
    for (const auto& [member, target] : texts)
      if (const auto& text = context.*target; !text.empty()) one[member] = text;
    if (context.tls_skip_verify) one["tls_skip_verify"] = true;
    all[name] = std::move(one);
  }
  return boost::json::serialize(
             boost::json::object{{"current", contexts.current}, {"contexts", std::move(all)}})
         + '\n';
}

Result<> check_context_name(std::string_view name) {
  const bool fits = std::ranges::all_of(
      name, [](char c) { return is_alphanumeric(c) || c == '-' || c == '_' || c == '.'; });
  if (fits && !name.empty() && name.size() <= 64 && name[0] != '.') return {};
  return Error{Errc::invalid_argument,
               fmt::format("{} is no name of a context: letters, digits, '-', '_' and '.', at most "
                           "64, and no dot first",
                           quote(name))};
}

Result<Context> find_context(const Contexts& contexts, const std::string& name) {
  if (const auto found = contexts.all.find(name); found != contexts.all.end()) return found->second;
  return Error{
      Errc::not_found,
      fmt::format("there is no context {}: `context list` shows those there are", quote(name))};
}

void fill_in(CommonFlags& flags, const Context& context, const std::string& token, bool is_named) {
  const bool is_elsewhere = !flags.address.empty() && flags.address != context.address;
  if (is_elsewhere) flags.context.clear();
  if (is_elsewhere && !is_named) return;
  const auto fill = [](std::string& target, const std::string& from) {
    if (target.empty()) target = from;
  };
  fill(flags.address, context.address);
  fill(flags.region, context.region);
  fill(flags.ns, context.ns);
  fill(flags.ca_cert, context.ca_cert);
  fill(flags.ca_path, context.ca_path);
  if (is_elsewhere) return;
  fill(flags.token, token);
  fill(flags.tls_server_name, context.tls_server_name);
  flags.tls_skip_verify = flags.tls_skip_verify || context.tls_skip_verify;
  if (!flags.client_cert.empty() || !flags.client_key.empty()) return;
  flags.client_cert = context.client_cert;
  flags.client_key = context.client_key;
}

Result<std::string> contexts_folder() {
  if (const char* const base = std::getenv("XDG_CONFIG_HOME"); base != nullptr && *base == '/')
    return std::string{base} + "/nomadctl";
  if (const char* const home = std::getenv("HOME"); home != nullptr && *home != '\0')
    return std::string{home} + "/.config/nomadctl";
  return Error{Errc::not_found, "neither XDG_CONFIG_HOME nor HOME says where contexts are kept"};
}

Result<Contexts> load_contexts() {
  const auto path = NOMAD_TRY(contexts_file());
  if (!is_there(path)) return Contexts{};
  return contexts_of(NOMAD_TRY(read_input(path, most_file_bytes))).within(path);
}

Result<> save_contexts(const Contexts& contexts) {
  return replace_file(NOMAD_TRY(contexts_file()), text_of(contexts));
}

Result<std::string> load_token(const std::string& context) {
  const auto path = NOMAD_TRY(token_file(context));

  struct stat info {};

  if (::stat(path.c_str(), &info) != 0) return std::string{};
  if ((info.st_mode & 077) != 0)
    return Error{Errc::rejected,
                 fmt::format("{} may be read by others: chmod 600 it, and log in again", path)};
  const auto text = NOMAD_TRY(read_input(path, most_file_bytes));
  return std::string{trim(text)};
}

Result<> save_token(const std::string& context, std::string_view secret) {
  return replace_file(NOMAD_TRY(token_file(context)), std::string{secret} + '\n');
}

Result<> remove_token(const std::string& context) {
  const auto path = NOMAD_TRY(token_file(context));
  if (std::remove(path.c_str()) != 0 && errno != ENOENT) return errno_error(path, errno);
  return {};
}

Result<> fill_from_context(CommonFlags& flags) {
  const bool is_named = !flags.context.empty();
  if (!is_named && !contexts_folder()) return {};
  const auto contexts = NOMAD_TRY(load_contexts());
  if (!is_named) flags.context = contexts.current;
  if (flags.context.empty()) return {};
  const auto context = NOMAD_TRY(find_context(contexts, flags.context));
  const bool needs_token = flags.token.empty();
  fill_in(flags, context, needs_token ? NOMAD_TRY(load_token(flags.context)) : std::string{},
          is_named);
  return {};
}

}  // namespace nomad::cli
