// Rules about the identities of tasks and services. The one without a name is Nomad's own: it has
// neither audience nor end.
#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "runtime/base/text.hpp"
#include "runtime/jobspec/validate/rules.hpp"

namespace nomad::jobspec {

namespace {

constexpr std::size_t longest_identity_name = 128;
constexpr std::size_t most_identities_of_task = 64;
constexpr std::size_t most_audiences = 64;

/// Of all audiences together: whoever verifies has a bound for tokens, and so have environments.
constexpr std::size_t most_audience_bytes = 4096;

/// As long as a key that no longer signs is kept for what it has signed.
constexpr std::int64_t longest_ttl = 720LL * 3600 * 1'000'000'000;

bool is_identity_name(std::string_view name) {
  return !name.empty() && name.size() <= longest_identity_name
         && std::all_of(name.begin(), name.end(),
                        [](char c) { return is_alphanumeric(c) || c == '-' || c == '_'; });
}

/// A path's parts, without those that say nothing; empty for one that names a directory.
std::string plain_path(std::string_view path) {
  std::string plain;
  std::string_view last = "/";
  for (const auto part : split(path, '/')) {
    last = part;
    if (part.empty() || part == ".") continue;
    if (!plain.empty()) plain += '/';
    plain += part;
  }
  return last.empty() || last == "." ? std::string{} : plain;
}

/// Where a task finds the identity; empty where it does not.
std::string file_of(const DraftBlock& identity) {
  if (!identity.flag("File")) return {};
  const std::string_view path = identity.text("Filepath");
  if (!path.empty()) return plain_path(path);
  const std::string_view name = identity.text("Name");
  return name.empty() || name == "default" ? "secrets/nomad_token"
                                           : fmt::format("secrets/nomad_{}.jwt", name);
}

/// Below the task's secrets, as it is written: what lies elsewhere whoever may read files can read.
bool is_among_secrets(std::string_view path) {
  if (path.empty()) return true;
  if (!path.starts_with("secrets/") || path.find('\0') != std::string_view::npos) return false;
  for (const auto part : split(path, '/'))
    if (part == "..") return false;
  return true;
}

void check_identity_file(const DraftBlock& identity, Mistakes& out) {
  const std::string_view path = identity.text("Filepath");
  if (!path.empty() && !identity.flag("File"))
    out.add("file parameter must be true in order to specify filepath");
  if (!is_among_secrets(path)) return out.add("filepath must be below secrets/");
  if (path.empty()) return;
  const auto plain = plain_path(path);
  if (plain.empty()) out.add("filepath must name a file, and no directory");
  if (plain == "secrets/api.sock")
    out.add("filepath can't be secrets/api.sock, which is the socket of the Task API");
}

void check_identity_change(const DraftBlock& identity, Mistakes& out) {
  const std::string_view mode = identity.text("ChangeMode");
  const std::string_view signal = identity.text("ChangeSignal");
  if (mode == "signal") {
    if (signal.empty())
      out.add("change_signal must be specified when using change_mode=\"signal\"");
  } else if (!mode.empty() && mode != "noop" && mode != "restart") {
    out.add([&] { return fmt::format("invalid change_mode: {}", mode); });
  } else if (!signal.empty()) {
    out.add([&] {
      return fmt::format("can only use change_signal={} with change_mode=\"signal\"",
                         quote(signal));
    });
  }
}

void check_identity_audience(const DraftBlock& identity, Mistakes& out) {
  const auto audience = identity.texts("Audience");
  if (audience.size() > most_audiences)
    return out.add(fmt::format("there may be at most {} audiences", most_audiences));
  int position = 0;
  std::size_t bytes = 0;
  for (const auto& each : audience) {
    ++position;
    bytes += each.size();
    if (each.size() == 0)
      out.add(fmt::format("an empty string is an invalid audience ({})", position));
  }
  if (bytes > most_audience_bytes)
    out.add(fmt::format("the audiences may have at most {} bytes together", most_audience_bytes));
}

}  // namespace

Mistakes check_identity(const DraftBlock& identity, bool is_named) {
  Mistakes out;
  const std::string_view name = identity.text("Name");
  const bool is_default = name.empty() || name == "default";
  const std::int64_t ttl = identity.number("TTL");
  if (!is_default && !is_identity_name(name))
    out.add([&] {
      return fmt::format("invalid name {}. Must match regex ^[a-zA-Z0-9-_]{{1,128}}$", quote(name));
    });
  if (is_named && is_default)
    out.add("there is one identity without a name, and it is not among those that have one");
  check_identity_audience(identity, out);
  check_identity_change(identity, out);
  if (ttl > 0 && is_default && !is_named) out.add("ttl for default identity not yet supported");
  if (ttl < 0) out.add("ttl must be >= 0");
  if (ttl > longest_ttl) out.add("ttl must be at most " + duration_text(longest_ttl));
  check_identity_file(identity, out);
  return out;
}

void check_identities(const DraftBlock& task, Mistakes& out) {
  if (const DraftBlock own = task.child("Identity"))
    out.add_joined("Identity \"default\" is invalid: ", check_identity(own, false));
  std::set<std::string_view> names;
  std::map<std::string, std::string> files;  ///< Of whom each is.
  const auto has_file = [&](const DraftBlock& identity, std::string_view name) {
    const auto file = file_of(identity);
    if (file.empty()) return;
    const auto [found, is_new] = files.emplace(file, name);
    if (!is_new)
      out.add(fmt::format("Identities {} and {} have the same file, {}", quote(found->second),
                          quote(name), file));
  };
  if (const DraftBlock own = task.child("Identity")) has_file(own, "default");
  std::size_t count = 0;
  task.each("Identities", [&](const DraftBlock& identity) {
    if (++count > most_identities_of_task) return;
    const std::string_view name = identity.text("Name");
    if (!names.insert(name).second)
      out.add([&] { return fmt::format("Identity {} is there twice", quote(name)); });
    else
      has_file(identity, name);
    if (const Mistakes found = check_identity(identity, true); !found.empty())
      out.add_joined(fmt::format("Identity {} is invalid: ", quote(name)), found);
  });
  if (count > most_identities_of_task)
    out.add(fmt::format("a task may have at most {} identities", most_identities_of_task));
}

}  // namespace nomad::jobspec
