// operator audit verify: whether the lines of an audit log are as they were written. Reads files
// alone: no agent is asked.
#include <algorithm>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "cli/arguments.hpp"
#include "cli/run.hpp"
#include "runtime/audit/verify.hpp"
#include "runtime/base/sorting/sort_stably.hpp"

namespace nomad::cli {
namespace {

struct AuditPart {
  std::string path;
  std::uint64_t first = UINT64_MAX;  ///< Number of its first line; without one it comes last.
};

Result<AuditPart> audit_part(const std::string& path) {
  std::ifstream file{path, std::ios::binary};
  std::string beginning(2 * audit::longest_line, '\0');
  file.read(beginning.data(), static_cast<std::streamsize>(beginning.size()));
  if (file.bad() || (!file.eof() && file.fail()))
    return errno_error("Error reading " + path, errno);
  if (!file.is_open()) return errno_error("Error opening " + path, ENOENT);
  beginning.resize(static_cast<std::size_t>(file.gcount()));
  AuditPart part{path};
  if (const auto first = audit::first_number_in(beginning)) part.first = *first;
  return part;
}

Result<> verify_part(audit::Verifier& verifier, const std::string& path) {
  std::ifstream file{path, std::ios::binary};
  if (!file) return errno_error("Error opening " + path, errno);
  verifier.begin_file(path);
  std::string piece(64 * 1024, '\0');
  while (file.read(piece.data(), static_cast<std::streamsize>(piece.size())) || file.gcount() > 0)
    verifier.feed({piece.data(), static_cast<std::size_t>(file.gcount())});
  if (file.bad()) return errno_error("Error reading " + path, errno);
  verifier.end_file();
  return {};
}

/// Says what was found; the exit code. An audit log that has no line has been emptied.
int report(const audit::Verifier& verifier, const std::string& known_hash) {
  for (const auto& finding : verifier.findings())
    std::cout << finding.file << ':' << finding.line << ": " << finding.what << '\n';
  if (const auto more = verifier.found() - verifier.findings().size(); more > 0)
    std::cout << "and " << more << " more\n";
  if (verifier.lacks_expected())
    std::cout << "No line has the hash " << known_hash
              << ": the log ends before it, or was written anew\n";
  const bool is_empty = verifier.first_number() == 0 && verifier.found() == 0;
  if (is_empty) std::cout << "There is no line: the files are empty, and an audit log never is\n";
  if (verifier.first_number() > 1)
    std::cout << "No file has what is before line number " << verifier.first_number()
              << ": it was removed with old files, or cut off\n";
  std::cout << verifier.good_lines() << " lines are as they were written";
  if (verifier.first_number() > 0)
    std::cout << ", from number " << verifier.first_number() << " to number "
              << verifier.last().number << "\nNewest hash: " << verifier.last().hash;
  std::cout << '\n';
  return verifier.found() == 0 && !is_empty && !verifier.lacks_expected() ? 0 : 1;
}

}  // namespace

Result<int> run_audit_verify(const std::vector<std::string>& arguments) {
  Arguments parser{"operator audit verify [options] <file>...",
                   "Finds lines of an audit log that were edited, cut out, swapped or put in. Give "
                   "all files of the log, in any order: what is missing at the end of one is found "
                   "by the next. What is missing at the end of all is found by a hash that was "
                   "noted before."};
  std::string known_hash;
  parser.option("known-hash", known_hash, "A hash that this command has printed before.");
  if (auto code = parser.parse(arguments, {1, SIZE_MAX, "This command takes the files of a log"}))
    return *code;
  std::vector<AuditPart> parts;
  for (const auto& path : parser.positional())
    parts.push_back(NOMAD_TRY(audit_part(path)));
  sort_stably(parts, {}, &AuditPart::first);
  audit::Verifier verifier;
  verifier.expect(known_hash);
  for (const auto& part : parts)
    NOMAD_TRY(verify_part(verifier, part.path));
  return report(verifier, known_hash);
}

}  // namespace nomad::cli
