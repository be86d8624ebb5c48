// Rules about the identities of tasks and services. The one without a name is Nomad's own: it has
// neither audience nor end.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "runtime/base/text.hpp"
#include "runtime/jobspec/validate/rules.hpp"
#include "runtime/object/identity_ttl.hpp"

namespace nomad::jobspec {

namespace {

constexpr std::size_t longest_identity_name = 128;
constexpr std::size_t most_identities_of_task = 64;
constexpr std::size_t most_audiences = 64;

/// Of all audiences together: whoever verifies has a bound for tokens, and so have environments.
constexpr std::size_t most_audience_bytes = 4096;

/// As long as a key that no longer signs is kept for what it has signed.

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

/// Where a task finds the identity, of the service that is named (none: of its own); empty where it
/// does not.
std::string file_of(const DraftBlock& identity, std::string_view service = {}) {
  if (!identity.flag("File")) return {};
  const std::string_view path = identity.text("Filepath");
  if (!path.empty()) return plain_path(path);
  if (!service.empty()) return plain_path(fmt::format("secrets/nomad_service_{}.jwt", service));
  const std::string_view name = identity.text("Name");
  return name.empty() || name == "default" ? "secrets/nomad_token"
                                           : fmt::format("secrets/nomad_{}.jwt", name);
}

constexpr std::string_view api_socket = "secrets/api.sock";

/// What the agent makes in a task's secrets, and removes: the socket, what becomes the socket, and
/// what becomes a file that is written whole (host::Beneath). A file needs directories above it.
bool is_kept_by_agent(std::string_view plain) {
  for (const auto socket : {api_socket, std::string_view{"secrets/.api.sock.new"}})
    if (plain.starts_with(socket) && (plain.size() == socket.size() || plain[socket.size()] == '/'))
      return true;
  const auto parts = split(plain, '/');
  return std::any_of(parts.begin(), parts.end(), [](std::string_view part) {
    return part.starts_with('.') && part.ends_with(".nomadctl-new");
  });
}

/// Where a task finds the template's text, if that is among its secrets and as the job writes it.
std::string secret_file_of(const DraftBlock& tmpl) {
  constexpr std::string_view directory = "${NOMAD_SECRETS_DIR}/";
  const std::string_view path = tmpl.text("DestPath");
  const auto plain = path.starts_with(directory)
                         ? plain_path(fmt::format("secrets/{}", path.substr(directory.size())))
                         : plain_path(path);
  return plain.starts_with("secrets/") ? plain : std::string{};
}

/// Whose file is where, of all identities of a task. Of very many none is compared with each.
class SecretFiles {
public:
  explicit SecretFiles(Mistakes& out) : out_{out} {}

  /// The identity `whose` has this file; "" is none.
  void add(const std::string& file, std::string whose) {
    if (file.empty()) return;
    if (const auto* other = in_the_way_of(file))
      return out_.add([&] {
        return other->first == file
                   ? fmt::format("Identities {} and {} have the same file, {}", other->second,
                                 whose, file)
                   : fmt::format("Identities {} and {} have files in each other's way, {} and {}",
                                 other->second, whose, other->first, file);
      });
    files_.emplace(file, std::move(whose));
  }

  /// What the job has written among them.
  void check_template(const DraftBlock& tmpl) const {
    const auto file = secret_file_of(tmpl);
    if (file.empty()) return;
    const auto* other = in_the_way_of(file);
    if (is_kept_by_agent(file))
      out_.add([&] {
        return fmt::format(
            "template's destination can't be {}, where the agent keeps what is its "
            "own",
            file);
      });
    else if (other != nullptr)
      out_.add([&] {
        return fmt::format("template's destination {} is in the way of identity {}, which has {}",
                           file, other->second, other->first);
      });
  }

private:
  using Files = std::map<std::string, std::string, std::less<>>;

  /// The same file, one that would have to be a directory, or one below it.
  const Files::value_type* in_the_way_of(const std::string& file) const {
    for (auto end = file.size(); end != std::string::npos; end = file.rfind('/', end - 1))
      if (const auto found = files_.find(std::string_view{file}.substr(0, end));
          found != files_.end())
        return &*found;
    const auto below = files_.lower_bound(file + '/');
    return below != files_.end() && below->first.starts_with(file + '/') ? &*below : nullptr;
  }

  Mistakes& out_;
  Files files_;  ///< Of whom each is.
};

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
  if (plain == api_socket)
    out.add("filepath can't be secrets/api.sock, which is the socket of the Task API");
  else if (is_kept_by_agent(plain))
    out.add(fmt::format("filepath can't be {}, where the agent keeps what is its own", plain));
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
  if (ttl > longest_identity_ttl)
    out.add("ttl must be at most " + duration_text(longest_identity_ttl));
  check_identity_file(identity, out);
  return out;
}

void check_identities(const DraftBlock& task, Mistakes& out) {
  if (const DraftBlock own = task.child("Identity"))
    out.add_joined("Identity \"default\" is invalid: ", check_identity(own, false));
  std::set<std::string_view> names;
  SecretFiles files{out};
  if (const DraftBlock own = task.child("Identity")) files.add(file_of(own), quote("default"));
  std::size_t count = 0;
  task.each("Identities", [&](const DraftBlock& identity) {
    if (++count > most_identities_of_task) return;
    const std::string_view name = identity.text("Name");
    if (!names.insert(name).second)
      out.add([&] { return fmt::format("Identity {} is there twice", quote(name)); });
    else
      files.add(file_of(identity), quote(name));
    if (const Mistakes found = check_identity(identity, true); !found.empty())
      out.add_joined(fmt::format("Identity {} is invalid: ", quote(name)), found);
  });
  if (count > most_identities_of_task)
    out.add(fmt::format("a task may have at most {} identities", most_identities_of_task));
  task.each("Services", [&](const DraftBlock& service) {
    const std::string_view name = service.text("Name");
    if (const DraftBlock identity = service.child("Identity"))
      files.add(file_of(identity, name), quote(name) + " of a service");
  });
  task.each("Templates", [&](const DraftBlock& tmpl) { files.check_template(tmpl); });
}

}  // namespace nomad::jobspec
