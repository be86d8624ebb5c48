#include "runtime/host/fingerprint/program_answers.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <iterator>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "runtime/base/base64.hpp"
#include "runtime/base/files/replace_file.hpp"
#include "runtime/base/log.hpp"
#include "runtime/base/text.hpp"
#include "runtime/host/file_time.hpp"
#include "runtime/host/process/unique_fd.hpp"

namespace nomad::host {
namespace {

/// Its last character changes with what a line means.
constexpr std::string_view heading = "nomadctl program answers 1";
constexpr std::string_view elf = "\177ELF";
constexpr std::size_t words_in_line = 9;
constexpr std::size_t most_answers = 128;
constexpr std::size_t longest_answer = 8UL << 10;
constexpr off_t largest_file = 2L << 20;

/// Texts with an end of their own each, for there may be none of them, or empty ones.
std::string encode(const std::vector<std::string>& texts) {
  std::string out;
  for (const auto& text : texts)
    out += encode_base64(text) + ',';
  return out.empty() ? "-" : out;
}

bool decode(std::string_view word, std::vector<std::string>& texts) {
  if (word == "-") return true;
  if (!word.ends_with(',')) return false;
  word.remove_suffix(1);
  for (const auto part : split(word, ',')) {
    auto text = decode_base64(part);
    if (!text) return false;
    texts.push_back(std::move(*text));
  }
  return true;
}

/// Only of a number that is written as we write them.
bool decode(std::string_view word, std::uint64_t& number) {
  if (!is_digits(word)) return false;
  number = leading_number(word);
  return fmt::format("{}", number) == word;
}

bool decode_line(std::string_view line, KnownAnswers& known) {
  const auto words = split(line, ' ');
  if (words.size() != words_in_line) return false;
  std::vector<std::string> program, arguments, output, errors;
  ProgramMark mark;
  if (!decode(words[0], program) || !decode(words[1], arguments) || !decode(words[2], mark.device)
      || !decode(words[3], mark.inode) || !decode(words[4], mark.size)
      || !decode(words[5], mark.modified_ns) || !decode(words[6], mark.changed_ns)
      || !decode(words[7], output) || !decode(words[8], errors) || program.size() != 1
      || output.size() != 1 || errors.size() != 1)
    return false;
  known[{std::move(program[0]), std::move(arguments)}]
      = {mark, {.exit_code = 0, .output = std::move(output[0]), .errors = std::move(errors[0])}};
  return true;
}

/// Nothing of a file that others own or may write, whatever is in it.
std::string read_own(const std::string& path) {
  const UniqueFd file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)};

  struct stat status {};

  if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
  const bool is_ours = status.st_uid == ::geteuid() && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
  if (!is_ours || status.st_size > largest_file) return {};
  std::string text(static_cast<std::size_t>(status.st_size), '\0');
  const auto got = ::read(file.get(), text.data(), text.size());
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  return text;
}

bool is_current(const KnownAnswers::value_type& answer) {
  return mark_of_program(answer.first.first) == answer.second.mark;
}

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

std::optional<ProgramMark> mark_of_program(const std::string& path) {
  const UniqueFd file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};

  struct stat status {};

  std::array<char, elf.size()> begin{};
  if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)
      || ::read(file.get(), begin.data(), begin.size()) != static_cast<ssize_t>(begin.size())
      || std::string_view{begin.data(), begin.size()} != elf)
    return std::nullopt;
  return ProgramMark{.device = status.st_dev,
                     .inode = status.st_ino,
                     .size = static_cast<std::uint64_t>(status.st_size),
                     .modified_ns = static_cast<std::uint64_t>(nanoseconds_of(status.st_mtim)),
                     .changed_ns = static_cast<std::uint64_t>(nanoseconds_of(status.st_ctim))};
}

std::string format_answers(const KnownAnswers& known) {
  std::string text{heading};
  text += '\n';
  for (const auto& [asked, each] : known) {
    const auto& [mark, ended] = each;
    fmt::format_to(std::back_inserter(text), "{} {} {} {} {} {} {} {} {}\n", encode({asked.first}),
                   encode(asked.second), mark.device, mark.inode, mark.size, mark.modified_ns,
                   mark.changed_ns, encode({ended.output}), encode({ended.errors}));
  }
  return text;
}

KnownAnswers parse_answers(std::string_view text) {
  if (!text.ends_with('\n')) return {};
  text.remove_suffix(1);
  const auto lines = split(text, '\n');
  if (lines.front() != heading) return {};
  KnownAnswers known;
  for (auto line = lines.begin() + 1; line != lines.end(); ++line)
    if (!decode_line(*line, known)) return {};
  return known;
}

std::string cache_directory() {
  if (const auto given = variable("CACHE_DIRECTORY"); !given.empty())
    return given.substr(0, given.find(':'));
  if (::geteuid() == 0) return "/var/cache/nomadctl";
  if (const auto caches = variable("XDG_CACHE_HOME"); !caches.empty()) return caches + "/nomadctl";
  const auto home = variable("HOME");
  return home.empty() ? "" : home + "/.cache/nomadctl";
}

ProgramAnswers::ProgramAnswers(std::string directory) : directory_{std::move(directory)} {
  if (!directory_.empty()) known_ = parse_answers(read_own(file()));
}

std::optional<ProgramEnded> ProgramAnswers::find(const ProgramRun& run) const {
  const std::lock_guard lock{guard_};
  const auto found = known_.find({run.program, run.arguments});
  if (found == known_.end() || found->second.mark != mark_of_program(run.program))
    return std::nullopt;
  return found->second.ended;
}

Result<ProgramEnded> ProgramAnswers::ask(const ProgramRun& run) {
  if (auto known = find(run)) return std::move(*known);
  // Before it answers: one that is replaced meanwhile is asked again.
  const auto mark = mark_of_program(run.program);
  auto ended = NOMAD_TRY(run_program(run));
  if (mark && ended.exit_code == 0 && ended.output.size() + ended.errors.size() <= longest_answer) {
    const std::lock_guard lock{guard_};
    const auto key = std::pair{run.program, run.arguments};
    known_[key] = learned_[key] = {*mark, ended};
  }
  return ended;
}

Result<> ProgramAnswers::save() {
  const std::lock_guard lock{guard_};
  if (directory_.empty() || learned_.empty()) return {};
  if (::mkdir(directory_.c_str(), 0700) != 0 && errno != EEXIST)
    return errno_error("making " + directory_, errno);
  const UniqueFd turn{::open(directory_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (!turn || ::flock(turn.get(), LOCK_EX) != 0)
    return errno_error("waiting for other agents at " + directory_, errno);
  auto all = std::exchange(learned_, {});
  for (auto& other : parse_answers(read_own(file())))
    if (all.size() < most_answers && is_current(other)) all.insert(std::move(other));
  return replace_file(file(), format_answers(all), Durability::of_process);
}

Result<ProgramEnded> program_answer(const std::string& directory, const ProgramRun& run) {
  ProgramAnswers answers{directory};
  auto answer = NOMAD_TRY(answers.ask(run));
  if (const auto saved = answers.save(); !saved)
    log::debug("client.fingerprint", "a program is asked again the next time",
               {{"path", run.program}, {"error", saved.error()}});
  return answer;
}

}  // namespace nomad::host
