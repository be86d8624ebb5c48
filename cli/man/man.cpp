// man: the manual pages, of what `-help` shows.
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iostream>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/api.hpp"
#include "cli/arguments.hpp"
#include "cli/command_tree.hpp"
#include "cli/man/man_pages.hpp"
#include "cli/run.hpp"

namespace nomad::cli {
namespace {

std::string today() {
  const auto now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  return fmt::format("{:%Y-%m-%d}", fmt::gmtime(now));
}

Result<> write_page(const std::filesystem::path& folder, const ManPage& page) {
  const auto path = folder / (page.name + ".1");
  std::ofstream out{path, std::ios::binary | std::ios::trunc};
  out << page.text;
  out.close();
  if (!out) return errno_error("write " + path.string(), errno);
  return {};
}

Result<> write_pages(const std::string& folder, const std::string& date) {
  const auto section = std::filesystem::path{folder} / "man1";
  std::error_code failure;
  std::filesystem::create_directories(section, failure);
  if (failure) return errno_error("mkdir " + section.string(), failure.value());
  for (const ManPage& page : man_pages(all_commands(), date))
    NOMAD_TRY(write_page(section, page));
  return {};
}

}  // namespace

Result<int> run_man(const std::vector<std::string>& arguments) {
  Arguments parser{"man [options] [<command>]",
                   "Prints the manual page of a command or of a group of them, of the program "
                   "without one: `nomadctl man job run | man -l -`. With -out all pages are "
                   "written."};
  auto& folder = parser.option("out", "Writes all pages into the folder man1 below this one.");
  auto& date = parser.option("date", "What the pages show as their date; today's without it.");
  if (auto code = parser.parse(arguments)) return *code;
  const auto shown = date.empty() ? today() : date;
  if (!folder.empty()) {
    if (!parser.positional().empty())
      return parser.misuse("-out writes all pages: name no command");
    NOMAD_TRY(write_pages(folder, shown));
    return 0;
  }
  const auto name = fmt::format("{}", fmt::join(parser.positional(), " "));
  const auto page = man_page(all_commands(), name, shown);
  if (page.text.empty()) return mistake(fmt::format("no command is called \"{}\"", name));
  std::cout << page.text;
  return 0;
}

}  // namespace nomad::cli
