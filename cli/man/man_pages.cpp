#include "cli/man/man_pages.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "cli/command_shape.hpp"
#include "runtime/base/text.hpp"

namespace nomad::cli {
namespace {

/// What roff takes for its own is written so that it shows itself.
std::string roff_escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else
      out += c;
  }
  return out;
}

/// Words in lines of at most so many bytes, where they fit. A line never begins as a request does.
std::string roff_lines(std::string_view text) {
  constexpr std::size_t width = 78;
  std::string out, line;
  const auto end_line = [&] {
    if (line.empty()) return;
    if (line[0] == '.' || line[0] == '\'') out += "\\&";
    out += line + '\n';
    line.clear();
  };
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find_first_of(" \n", at), text.size());
    const auto word = roff_escaped(text.substr(at, end - at));
    at = end + 1;
    if (word.empty()) continue;
    if (!line.empty() && line.size() + 1 + word.size() > width) end_line();
    if (!line.empty()) line += ' ';
    line += word;
  }
  end_line();
  return out;
}

/// Paragraphs, which an empty line separates.
std::string roff_paragraphs(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find("\n\n", at), text.size());
    if (!out.empty()) out += ".PP\n";
    out += roff_lines(text.substr(at, end - at));
    at = end + 2;
  }
  return out;
}

std::string page_name(std::string_view command) {
  std::string name = "nomadctl";
  if (!command.empty()) name += '-' + std::string{command};
  std::ranges::replace(name, ' ', '-');
  return name;
}

std::string page_head(std::string_view name, std::string_view date, std::string_view summary) {
  auto small = std::string{summary};
  if (!small.empty()) small[0] = to_lower(small.substr(0, 1))[0];
  return fmt::format(".TH {} 1 {} \"nomadctl {}\" \"User Commands\"\n.SH NAME\n{} \\-\n{}",
                     to_upper(name), date, NOMADCTL_VERSION, roff_escaped(name), roff_lines(small));
}

std::string synopsis(const CommandShape& shape) {
  const auto name = shape.name();
  return fmt::format(".SH SYNOPSIS\n.B nomadctl {}\n{}", roff_escaped(name),
                     roff_lines(std::string_view{shape.usage}.substr(name.size())));
}

std::string options(const CommandShape& shape) {
  if (shape.flags.empty()) return {};
  std::string out = ".SH OPTIONS\n";
  for (const FlagShape& flag : shape.flags)
    out += fmt::format(".TP\n{} \\-{}{}\n{}", flag.takes_value ? ".BI" : ".B",
                       roff_escaped(flag.name), flag.takes_value ? "= value" : "",
                       roff_lines(flag.help));
  return out;
}

std::string subcommands(const CommandTree& commands, std::string_view group) {
  const auto words = commands.next_words(group);
  if (words.empty()) return {};
  std::string out = ".SH COMMANDS\n";
  for (const std::string& word : words) {
    const auto name = group.empty() ? word : fmt::format("{} {}", group, word);
    const auto summary = commands.summary(name);
    out += fmt::format(".TP\n.BR {} (1)\n{}", roff_escaped(page_name(name)),
                       roff_lines(summary.empty() ? name : fmt::format("{}.", summary)));
  }
  return out;
}

/// The page above.
std::string see_also(std::string_view name) {
  if (name.empty()) return {};
  const auto space = name.rfind(' ');
  return fmt::format(
      ".SH SEE ALSO\n.BR {} (1)\n",
      roff_escaped(
          page_name(space == std::string_view::npos ? std::string_view{} : name.substr(0, space))));
}

std::string page_of_group(std::string_view group) {
  if (group.empty())
    return ".SH SYNOPSIS\n.B nomadctl\n[\\-version] [\\-help] <command> [args]\n"
           ".SH DESCRIPTION\n"
           + roff_paragraphs(
               "nomadctl places the tasks of jobs on the machines of a cluster, runs them and "
               "watches over them. `nomadctl agent` runs a node of the cluster; the other "
               "commands talk to an agent over HTTP.\n\n"
               "Flags stand behind a command's words and before its arguments, with one dash or "
               "two. Each command lists its own with -help.");
  return synopsis(
      {.usage = fmt::format("{} <subcommand> [options] [args]", group), .about = {}, .flags = {}});
}

const Command* exact(const CommandTree& commands, std::string_view name) {
  const auto at = std::ranges::find(commands.commands, name, &Command::name);
  return at == commands.commands.end() ? nullptr : &*at;
}

}  // namespace

ManPage man_page(const CommandTree& commands, std::string_view name, std::string_view date) {
  ManPage page{page_name(name), {}};
  const Command* const command = exact(commands, name);
  if (command == nullptr && commands.next_words(name).empty()) return page;
  std::string_view summary = command == nullptr ? commands.summary(name) : command->summary;
  if (name.empty()) summary = "Runs jobs on the machines of a cluster";
  page.text = page_head(page.name, date, summary.empty() ? name : summary);
  if (command == nullptr) {
    page.text += page_of_group(name);
  } else {
    CommandShape shape = shape_of(*command);
    if (shape.usage.empty()) shape.usage = name;
    if (shape.about.empty()) shape.about = fmt::format("{}.", command->summary);
    page.text
        += synopsis(shape) + ".SH DESCRIPTION\n" + roff_paragraphs(shape.about) + options(shape);
  }
  page.text += subcommands(commands, name) + see_also(name);
  return page;
}

std::vector<ManPage> man_pages(const CommandTree& commands, std::string_view date) {
  std::set<std::string, std::less<>> names;
  for (const Command& command : commands.commands)
    for (auto end = command.name.size(); end != std::string_view::npos;
         end = command.name.rfind(' ', end - 1))
      names.emplace(command.name.substr(0, end));
  std::vector<ManPage> pages{man_page(commands, "", date)};
  for (const std::string& name : names)
    pages.push_back(man_page(commands, name, date));
  return pages;
}

}  // namespace nomad::cli
