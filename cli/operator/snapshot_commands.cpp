// operator snapshot save, restore, inspect, state.
#include <algorithm>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <optional>

#include <boost/json.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <stdlib.h>

#include "cli/api_command.hpp"
#include "cli/new_file.hpp"
#include "cli/operator/state_view.hpp"
#include "cli/output/layout.hpp"
#include "cli/run.hpp"
#include "runtime/base/text.hpp"
#include "runtime/object/json_codec.hpp"
#include "runtime/security/unopened_keys.hpp"
#include "runtime/state/restore.hpp"
#include "runtime/storage/snapshot_archive.hpp"
#include "runtime/storage/snapshot_file.hpp"

namespace nomad::cli {
namespace {

namespace fs = std::filesystem;

/// An archive's snapshot, unpacked where only we can read it.
class Unpacked {
public:
  static Result<std::unique_ptr<Unpacked>> open(const std::string& archive) {
    std::error_code failure;
    auto pattern = (fs::temp_directory_path(failure) / "nomadctl-snapshot-XXXXXX").string();
    if (failure || mkdtemp(pattern.data()) == nullptr)
      return errno_error("cannot create a temporary directory", errno);
    std::unique_ptr<Unpacked> made{new Unpacked{pattern}};
    made->meta_ = NOMAD_TRY(storage::read_archive(archive, made->state_path()));
    return made;
  }

  Unpacked(const Unpacked&) = delete;

  ~Unpacked() {
    std::error_code failure;  // below the temporary directory, which is cleaned anyway
    fs::remove_all(directory_, failure);
  }

  const storage::ArchiveMeta& meta() const { return meta_; }

  std::string state_path() const { return directory_ + "/state"; }

private:
  explicit Unpacked(std::string directory) : directory_{std::move(directory)} {}

  std::string directory_;
  storage::ArchiveMeta meta_;
};

std::string default_name() {
  const auto now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm local{};
  localtime_r(&now, &local);
  return fmt::format("nomad-state-{:04}{:02}{}-{}.snap", local.tm_year + 1900, local.tm_mon + 1,
                     local.tm_mday, now);
}

/// Downloads into `path`, which is complete afterwards or as far as it came.
Result<> download(Api& api, const Query& query, const std::string& path) {
  auto stream
      = NOMAD_TRY(api.stream("/v1/operator/snapshot", query).within("Failed to get snapshot file"));
  std::error_code failure;
  fs::remove(path, failure);  // What an earlier command left, that did not come to its end.
  auto file = NOMAD_TRY(NewFile::create(path).within("Failed to create file"));
  for (bool is_first = true;; is_first = false) {
    const auto piece = NOMAD_TRY(stream.read().within("Failed to download snapshot file"));
    if (is_first && !piece.starts_with('\x1f'))  // as what gzip makes begins
      return mistake("Failed to get snapshot file: the answer is no archive");
    if (piece.empty()) return file.finish().within("Failed to write file");
    NOMAD_TRY(file.write(piece).within("Failed to write file"));
  }
}

/// What of a snapshot its readers need keys for that are not in it.
struct Sealed {
  security::SealedCount count;
  /// Ids of root keys, by what opens them.
  std::map<std::vector<std::string>, std::vector<std::string>> keys{};
};

Result<Sealed> read_sealed(const std::string& path) {
  auto reader = NOMAD_TRY(storage::SnapshotReader::open(path));
  const auto names = NOMAD_TRY(reader->tables());
  state::Restore restored;
  for (const auto table : {state::Table::variables, state::Table::acl_tokens,
                           state::Table::acl_auth_methods, state::Table::root_keys}) {
    const auto name = state::to_string(table);
    if (std::ranges::find(names, name) == names.end()) continue;  // of no rows
    NOMAD_TRY(reader->read(name, [&](std::string_view key, std::span<const std::byte> bytes) {
      return restored.row(table, key, bytes);
    }));
  }
  const auto tables = NOMAD_TRY(restored.take());
  Sealed out;
  for (const auto& [id, count] : security::sealed_by_key(tables)) {
    out.count.variables += count.variables;
    out.count.tokens += count.tokens;
    out.count.auth_methods += count.auth_methods;
    const auto* key = tables.root_keys.find(id);
    out.keys[key ? security::what_opens(**key) : std::vector<std::string>{}].push_back(id);
  }
  return out;
}

/// Says that the keys of what is sealed are not in the file; nothing of one where nothing is.
std::string note_of_keys(const Sealed& sealed) {
  if (sealed.keys.empty()) return {};
  const auto& count = sealed.count;
  auto note = fmt::format("The file holds {}, and not what opens them:", security::describe(count));
  for (const auto& [ways, keys] : sealed.keys)
    note += fmt::format(
        "\n  root key{} {}: {}", keys.size() == 1 ? "" : "s", fmt::join(keys, ", "),
        ways.empty() ? "its row is not in the file" : fmt::format("{}", fmt::join(ways, ", or ")));
  note += fmt::format(
      "\nKeep that apart from the file: without it, other servers can restore the {} "
      "but not read them.",
      count.tokens + count.auth_methods == 0 ? "variables" : "secrets");
  if (count.tokens != 0)
    note
        += "\nTokens are good there all the same for who has their secrets, which nobody is shown.";
  return note;
}

/// The note of an archive; nothing where it can't be read, which others tell.
std::string note_of_archive(const std::string& archive) {
  const auto unpacked = Unpacked::open(archive);
  if (!unpacked) return {};
  const auto sealed = read_sealed((*unpacked)->state_path());
  return sealed ? note_of_keys(*sealed) : std::string{};
}

/// What the servers said of keys: "<id>=3 variables; 2 tokens,<id>=1 token".
void warn_of_unopened(std::string_view keys) {
  std::cerr << "\nWarning: the leader can't open root keys of what was restored:\n";
  for (const auto& key : split(keys, ',')) {
    const auto equals = key.find('=');
    std::string sealed{equals == std::string::npos ? "" : key.substr(equals + 1)};
    std::ranges::replace(sealed, ';', ',');
    std::cerr << fmt::format("  root key {}: {}\n", key.substr(0, equals), sealed);
  }
  std::cerr << "They can't be read until a server opens the key. For that, "
            << security::how_to_open_keys << ".\n";
}

}  // namespace

Result<int> run_snapshot_save(const std::vector<std::string>& arguments) {
  ApiCommand command{
      "operator snapshot save [options] <file>",
      "Saves the state of the servers, as it is at one moment, to a file. Variables are "
      "in it sealed, and what opens them is not: keep that, too, as the command says."};
  auto& stale = command.flag("stale", "Any server may answer, also without a leader.");
  if (auto code = command.parse(arguments, optional_word("<filename>"))) return *code;
  const auto name = command.positional().empty() ? default_name() : command.positional()[0];
  std::error_code failure;
  if (fs::exists(fs::symlink_status(name, failure)))
    return command.misuse(fmt::format("Destination file already exists: \"{}\"", name));
  auto& api = *NOMAD_TRY(command.connect());
  const auto unfinished = name + ".tmp";
  const auto saved = download(api, stale ? Query{{"stale", ""}} : Query{}, unfinished);
  if (!saved) {
    fs::remove(unfinished, failure);
    return saved.error();
  }
  fs::rename(unfinished, name, failure);
  if (failure) return mistake("Failed to finalize snapshot file: " + failure.message());
  std::cout << "State file written to " << name << '\n';
  if (const auto note = note_of_archive(name); !note.empty()) std::cerr << note << '\n';
  return 0;
}

Result<int> run_snapshot_restore(const std::vector<std::string>& arguments) {
  ApiCommand command{
      "operator snapshot restore [options] <file>",
      "Replaces the state of the servers by that of a file. Meant for disaster "
      "recovery: what was written since the file was saved is lost. Variables can be "
      "read afterwards if the servers have the same `encrypt` as those that saved it, or "
      "the holder.key of one of those in a keystore; if not, the command says so, and "
      "what to do."};
  if (auto code = command.parse(arguments, one_word("<filename>"))) return *code;
  const auto& name = command.positional()[0];
  if (!std::ifstream{name, std::ios::binary})
    return mistake(fmt::format("Error opening snapshot file: \"{}\"",
                               errno_error("open " + name, errno).what));
  auto& api = *NOMAD_TRY(command.connect());
  if (const auto note = note_of_archive(name); !note.empty()) std::cerr << note << "\n\n";
  const auto response = NOMAD_TRY(
      api.send_file("PUT", "/v1/operator/snapshot", name).within("Failed to get restore snapshot"));
  if (response.status / 100 != 2) return fail("Failed to get restore snapshot", refusal(response));
  std::cout << "Snapshot Restored\n" << std::flush;
  if (const auto keys = response.header("X-Nomad-Unopened-Keys"); !keys.empty())
    warn_of_unopened(keys);
  return 0;
}

Result<int> run_snapshot_inspect(const std::vector<std::string>& arguments) {
  Arguments parser{"operator snapshot inspect <file>", "Shows what a snapshot file is."};
  if (auto code = parser.parse(arguments, one_word("<filename>"))) return *code;
  const auto& name = parser.positional()[0];
  if (std::error_code failure; !fs::exists(name, failure))
    return mistake("Error opening snapshot file: open " + name + ": no such file or directory");
  const auto unpacked = NOMAD_TRY(Unpacked::open(name).within("Error verifying snapshot"));
  const auto& meta = unpacked->meta();
  std::cout << table({{"ID", meta.id},
                      {"Size", std::to_string(meta.size)},
                      {"Index", std::to_string(meta.index)},
                      {"Term", std::to_string(meta.term)},
                      {"Version", std::to_string(meta.version)}})
            << '\n';
  const auto sealed
      = NOMAD_TRY(read_sealed(unpacked->state_path()).within("Error verifying snapshot"));
  if (const auto note = note_of_keys(sealed); !note.empty()) std::cout << '\n' << note << '\n';
  return 0;
}

Result<int> run_snapshot_state(const std::vector<std::string>& arguments) {
  Arguments parser{"operator snapshot state [options] <file>",
                   "Prints the state of a snapshot file as JSON. Variables stay sealed."};
  auto& expression
      = parser.option("filter", "Only the objects for which the expression holds, of every kind.");
  if (auto code = parser.parse(arguments, one_word("<file>"))) return *code;
  std::optional<query::Filter> filter;
  if (!expression.empty())
    filter.emplace(
        NOMAD_TRY(query::Filter::compile(expression)
                      .within(fmt::format("Invalid filter expression {}", quote(expression)))));
  const auto unpacked
      = NOMAD_TRY(Unpacked::open(parser.positional()[0]).within("Failed to read archive file"));
  const auto tables
      = NOMAD_TRY(read_tables(unpacked->state_path()).within("Failed to read archive file"));
  print_json(describe_state(tables, unpacked->meta(), filter ? &*filter : nullptr));
  return 0;
}

}  // namespace nomad::cli
