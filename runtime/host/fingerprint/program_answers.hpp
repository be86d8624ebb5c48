// ProgramAnswers: what programs said when they were asked, kept in a file from one start of an
// agent to the next: what a fingerprint learns from a program (the versions of CNI plugins, of a
// Java) is slow to learn. Sixteen plugins take 16 ms, as long as everything else of a start; a JVM
// 120.
//
// An answer counts for the very file that gave it: device, inode, size and both times of change
// must be as they were, the last of which nobody can set. Only of compiled programs: a script may
// run something else tomorrow. What failed is asked again.
//
// The file belongs to a machine and a user, not to an agent's data: a dev agent profits, whose data
// are new each time. It may be removed at any time. One that is damaged, or that others own or
// could have written, counts as none. It is replaced as a whole, by one agent at a time, and not
// synced: what is lost is asked again. It has at most 128 answers of 8 KiB.
//
// Thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/base/result.hpp"
#include "runtime/host/process/run_program.hpp"

namespace nomad::host {

/// What tells a file from any other, and from itself after a change.
struct ProgramMark {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t size = 0;
  std::uint64_t modified_ns = 0;  ///< Since 1970, like the next.
  std::uint64_t changed_ns = 0;

  bool operator==(const ProgramMark&) const = default;
};

/// Of a compiled program (ELF), behind all links; nothing of anything else, and of what can't be
/// read.
std::optional<ProgramMark> mark_of_program(const std::string& path);

struct KnownAnswer {
  ProgramMark mark;
  ProgramEnded ended;

  bool operator==(const KnownAnswer&) const = default;
};

/// By the program's path and its arguments.
using KnownAnswers = std::map<std::pair<std::string, std::vector<std::string>>, KnownAnswer>;

/// As the file has them.
std::string format_answers(const KnownAnswers& known);

/// None of a text with anything else in it.
KnownAnswers parse_answers(std::string_view text);

/// Where things are kept that may be lost: as systemd says (CacheDirectory=), or where systems have
/// them, of root (/var/cache/nomadctl) and of others ($XDG_CACHE_HOME/nomadctl or
/// ~/.cache/nomadctl); empty without a home.
std::string cache_directory();

class ProgramAnswers {
public:
  /// Reads what is there. `directory` empty: nothing is kept. It is made, for its owner alone, when
  /// there is something to write; the one above it has to be there.
  explicit ProgramAnswers(std::string directory);

  /// What the program answered to these arguments; nothing: it has to be asked. Its environment and
  /// its input are taken for the same each time.
  std::optional<ProgramEnded> find(const ProgramRun& run) const;

  /// The same; if it is not known, it is asked now, which blocks.
  Result<ProgramEnded> ask(const ProgramRun& run);

  /// Writes what was learned, beside what others have learned meanwhile.
  Result<> save();

private:
  std::string file() const { return directory_ + "/program-answers"; }

  std::string directory_;
  mutable std::mutex guard_;
  KnownAnswers known_;
  KnownAnswers learned_;  ///< Not written yet.
};

/// `ask` of one program alone, in `directory`. A failure to write is no failure.
Result<ProgramEnded> program_answer(const std::string& directory, const ProgramRun& run);

}  // namespace nomad::host
