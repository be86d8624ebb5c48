#include "cli/command_tree.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/programs.hpp"
#include "runtime/base/similar_name.hpp"

namespace nomad::cli {
namespace {

/// No command has a name of more words.
constexpr std::size_t most_words = 4;

/// What Nomad's list begins with.
constexpr auto common
    = std::to_array<std::string_view>({"run", "stop", "status", "alloc", "job", "node", "agent"});

std::string first_words(std::span<const std::string> words, std::size_t count) {
  return fmt::format("{}", fmt::join(words.first(count), " "));
}

/// Whether the name lies below the group; every name lies below "".
bool lies_below(std::string_view name, std::string_view group) {
  return group.empty()
         || (name.starts_with(group) && name.size() > group.size() && name[group.size()] == ' ');
}

template <class Entry>
std::string_view summary_of(std::span<const Entry> sorted, std::string_view name) {
  const auto at = std::ranges::lower_bound(sorted, name, {}, &Entry::name);
  return at != sorted.end() && at->name == name ? at->summary : std::string_view{};
}

struct Line {
  std::string word;
  std::string_view summary;
};

std::string layout(std::string_view title, const std::vector<Line>& lines, std::size_t width) {
  std::string out = fmt::format("\n{}:\n", title);
  for (const Line& line : lines)
    out += line.summary.empty() ? fmt::format("    {}\n", line.word)
                                : fmt::format("    {:<{}}    {}\n", line.word, width, line.summary);
  return out;
}

}  // namespace

const Command* CommandTree::find(std::span<const std::string> words, std::size_t& used) const {
  for (std::size_t count = std::min(words.size(), most_words); count > 0; --count) {
    const std::string name = first_words(words, count);
    const auto at = std::ranges::lower_bound(commands, name, {}, &Command::name);
    if (at == commands.end() || at->name != name) continue;
    used = count;
    return &*at;
  }
  return nullptr;
}

std::string CommandTree::group_of(std::span<const std::string> words) const {
  for (std::size_t count = std::min(words.size(), most_words); count > 0; --count) {
    std::string name = first_words(words, count);
    if (std::ranges::any_of(commands, [&](const Command& c) { return lies_below(c.name, name); }))
      return name;
  }
  return {};
}

std::vector<std::string> CommandTree::next_words(std::string_view prefix) const {
  std::vector<std::string> out;
  for (const Command& command : commands) {
    if (!lies_below(command.name, prefix)) continue;
    const std::string_view rest = command.name.substr(prefix.empty() ? 0 : prefix.size() + 1);
    out.emplace_back(rest.substr(0, rest.find(' ')));
  }
  std::ranges::sort(out);
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

std::string_view CommandTree::summary(std::string_view name) const {
  const std::string_view of_group = summary_of(groups, name);
  return of_group.empty() ? summary_of(commands, name) : of_group;
}

std::string_view CommandTree::nearest(std::span<const std::string> words) const {
  std::vector<std::string_view> names;
  for (const Command& command : commands)
    names.push_back(command.name);
  for (const CommandGroup& group : groups)
    names.push_back(group.name);
  for (std::size_t count = std::min(words.size(), most_words); count > 0; --count)
    if (const auto near = closest_word(first_words(words, count), names); !near.empty())
      return near;
  return {};
}

std::string CommandTree::help(std::string_view group) const {
  std::vector<Line> first, rest;
  std::size_t width = 0;
  for (std::string& word : next_words(group)) {
    const std::string name = group.empty() ? word : fmt::format("{} {}", group, word);
    const std::string_view summary = this->summary(name);
    width = std::max(width, word.size());
    const bool is_common = group.empty() && std::ranges::count(common, std::string_view{word}) > 0;
    (is_common ? first : rest).push_back({std::move(word), summary});
  }
  std::ranges::sort(first, {}, [](const Line& line) {
    return std::ranges::find(common, std::string_view{line.word});
  });
  if (group.empty())
    return as_called(
               "Usage: nomadctl [-version] [-help] [-autocomplete-(un)install] <command> [args]\n")
           + layout("Common commands", first, width) + layout("Other commands", rest, width);
  const std::string_view about = summary_of(groups, group);
  return fmt::format("Usage: {} {} <subcommand> [options] [args]\n{}", program_name(), group,
                     about.empty() ? "" : fmt::format("\n  {}.\n", about))
         + layout("Subcommands", rest, width);
}

}  // namespace nomad::cli
