#include "cli/completion/completion.hpp"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <iostream>

#include <sys/time.h>
#include <unistd.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/command_shape.hpp"
#include "cli/completion/typed_line.hpp"
#include "cli/completion/value_kinds.hpp"

namespace nomad::cli {
namespace {

/// Words of commands, with what these are for.
Candidates next_words(const CommandTree& commands, const std::string& before) {
  Candidates out;
  for (std::string& word : commands.next_words(before)) {
    const auto name = before.empty() ? word : fmt::format("{} {}", before, word);
    out.insert({std::move(word), std::string{commands.summary(name)}});
  }
  return out;
}

/// Each value behind "-flag=".
Candidates behind_flag(std::string_view flag, const Candidates& values) {
  Candidates out;
  for (const Candidate& value : values)
    out.insert({fmt::format("{}={}", flag, value.text), value.about});
  return out;
}

Candidates values_like(ValueKind kind, const GivenWords& given, const std::string& typed) {
  if (kind == ValueKind::nothing) return {};
  return kind == ValueKind::files ? files_like(typed) : objects_like(kind, given, typed);
}

Candidates flag_values(const CommandShape& shape,
                       const GivenWords& given,
                       std::string_view flag,
                       const std::string& typed) {
  Candidates out;
  for (const auto word : words_of_flag(flag))
    out.insert({std::string{word}, {}});
  if (!out.empty()) return out;
  return values_like(kind_of_flag(shape.name(), flag), given, typed);
}

Candidates flags_like(const CommandShape& shape,
                      const GivenWords& given,
                      const std::string& typed) {
  if (const auto equals = typed.find('='); equals != std::string::npos)
    return behind_flag(typed.substr(0, equals), flag_values(shape, given, split_flag(typed).first,
                                                            std::string{split_flag(typed).second}));
  Candidates out;
  const std::string_view dashes = typed.starts_with("--") ? "--" : "-";
  for (const FlagShape& flag : shape.flags)
    out.insert({fmt::format("{}{}", dashes, flag.name), flag.help});
  return out;
}

/// What can stand for the word that is typed behind the command's own words.
Candidates words_of_command(const CommandShape& shape,
                            const GivenWords& given,
                            const std::string& typed) {
  if (!given.open_flag.empty()) return flag_values(shape, given, given.open_flag, typed);
  if (typed.starts_with('-')) return flags_like(shape, given, typed);
  return values_like(kind_of_word(shape.name(), given), given, typed);
}

bool is_printable(std::string_view text) {
  return std::ranges::none_of(text, [](char c) { return static_cast<unsigned char>(c) < ' '; });
}

/// On one line.
std::string flat(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
  return text;
}

/// Ends the program without a word, whatever it waits for.
void end_in_time() {
  std::signal(SIGALRM, [](int) { _exit(0); });
  const itimerval patience{.it_interval = {}, .it_value = {.tv_sec = 0, .tv_usec = 450'000}};
  setitimer(ITIMER_REAL, &patience, nullptr);
}

/// How many bytes of the typed word the shell keeps by itself: bash breaks words at "=" and ":",
/// and takes what is printed for the rest.
std::size_t kept_by_shell(std::string_view typed, const std::vector<std::string>& words) {
  constexpr std::size_t of_bash = 3;
  if (words.size() != of_bash || typed.size() <= words[1].size() || !typed.ends_with(words[1]))
    return 0;
  const auto kept = typed.size() - words[1].size();
  return typed[kept - 1] == '=' || typed[kept - 1] == ':' ? kept : 0;
}

}  // namespace

std::vector<Candidate> completions(const CommandTree& commands, std::string_view line) {
  auto [words, typed] = read_line(line);
  if (words.empty()) return {};
  words.erase(words.begin());  // the program
  Candidates found;
  std::size_t used = 0;
  const Command* const command = commands.find(words, used);
  if (!typed.starts_with('-') && (command == nullptr || used == words.size()))
    found = next_words(commands, fmt::format("{}", fmt::join(words, " ")));
  if (command != nullptr && found.empty()) {
    const CommandShape shape = shape_of(*command);
    found = words_of_command(shape, read_words(shape, std::span{words}.subspan(used)), typed);
  }
  std::vector<Candidate> out;
  for (const Candidate& candidate : found)
    if (candidate.text.starts_with(typed) && is_printable(candidate.text))
      out.push_back({candidate.text, flat(candidate.about)});
  return out;
}

bool answer_completion(const CommandTree& commands, const std::vector<std::string>& words) {
  const char* line = std::getenv("COMP_LINE");
  if (line == nullptr) return false;
  end_in_time();
  std::string_view typed{line};
  if (const char* point = std::getenv("COMP_POINT")) {
    const unsigned long at = std::strtoul(point, nullptr, 10);
    if (at > 0 && at < typed.size()) typed = typed.substr(0, at);
  }
  const auto kept = kept_by_shell(read_line(typed).typed, words);
  const bool is_described = std::getenv("COMP_DESCRIBED") != nullptr;
  for (const Candidate& candidate : completions(commands, typed)) {
    std::cout << std::string_view{candidate.text}.substr(kept);
    if (is_described && !candidate.about.empty()) std::cout << '\t' << candidate.about;
    std::cout << '\n';
  }
  return true;
}

}  // namespace nomad::cli
