// Manual pages: what they are made of, and that roff shows it as it is.
#include "cli/man/man_pages.hpp"

#include <doctest/doctest.h>

#include "cli/arguments.hpp"
#include "cli/command_shape.hpp"

using namespace nomad;
using namespace nomad::cli;

namespace {

Result<int> run_made_up(const std::vector<std::string>& arguments) {
  Arguments flags{"thing make [options] <name>",
                  "Makes a thing.\n\n.dots and \\ and a-b are nothing to roff. "
                  "This paragraph is so long that a second line is needed for it."};
  flags.flag<bool>("fast", "Makes it at once.");
  flags.option("of", "What it is made of.");
  if (auto code = flags.parse(arguments)) return *code;
  return 0;
}

constexpr Command made_up_commands[] = {
    {"make", "Alias of thing make", run_made_up},
    {"thing make", "Makes a thing", run_made_up},
};
constexpr CommandGroup made_up_groups[] = {{"thing", "Works on things"}};
constexpr CommandTree made_up{made_up_commands, made_up_groups};

}  // namespace

TEST_CASE("man pages: a command's is its usage, its paragraphs and its flags") {
  const auto page = man_page(made_up, "thing make", "2026-11-30");
  CHECK(page.name == "nomadctl-thing-make");
  CHECK(page.text
        == ".TH NOMADCTL-THING-MAKE 1 2026-11-30 \"nomadctl " NOMADCTL_VERSION
           "\" \"User Commands\"\n"
           ".SH NAME\nnomadctl\\-thing\\-make \\-\nmakes a thing\n"
           ".SH SYNOPSIS\n.B nomadctl thing make\n[options] <name>\n"
           ".SH DESCRIPTION\nMakes a thing.\n.PP\n"
           "\\&.dots and \\e and a\\-b are nothing to roff. This paragraph is so long that a\n"
           "second line is needed for it.\n"
           ".SH OPTIONS\n.TP\n.B \\-fast\nMakes it at once.\n"
           ".TP\n.BI \\-of= value\nWhat it is made of.\n"
           ".SH SEE ALSO\n.BR nomadctl\\-thing (1)\n");
}

TEST_CASE("man pages: a group's and the program's list what is below them") {
  const auto group = man_page(made_up, "thing", "2026-11-30").text;
  CHECK(group.find(".SH COMMANDS\n.TP\n.BR nomadctl\\-thing\\-make (1)\nMakes a thing.\n")
        != std::string::npos);
  const auto all = man_pages(made_up, "2026-11-30");
  REQUIRE(all.size() == 4);
  CHECK(all[0].name == "nomadctl");
  CHECK(all[0].text.find(".BR nomadctl\\-thing (1)\nWorks on things.\n") != std::string::npos);
  CHECK(all[1].name == "nomadctl-make");
  CHECK(all[2].name == "nomadctl-thing");
  CHECK(man_page(made_up, "nothing", "2026-11-30").text.empty());
}

TEST_CASE("command shape: what a command takes, from itself") {
  const auto shape = shape_of(made_up_commands[0]);
  CHECK(shape.name() == "thing make");
  REQUIRE(shape.flags.size() == 2);
  CHECK(shape.flag("of")->takes_value);
  CHECK(shape.flag("of")->help == "What it is made of.");
  CHECK_FALSE(shape.flag("fast")->takes_value);
  CHECK(shape.flag("none") == nullptr);
}
