// Flags follow the rules of Go's flag package, which scripts rely on.
#include "cli/arguments.hpp"

#include <doctest/doctest.h>

#include "test/unit/cli/capture.hpp"

using namespace nomad::cli;
using nomad::test::Capture;

namespace {

struct Flags {
  bool detach = false;
  std::optional<bool> strict;
  std::string type = "service";
  std::int64_t lines = -1;
  std::optional<std::int64_t> index;
  std::vector<std::string> meta;
  Arguments parser{"job run [options] <path>", "Registers a job."};

  Flags() {
    parser.flag("detach", detach, "Returns at once.");
    parser.flag("strict", strict, "Is strict.");
    parser.option("type", type, "The type.");
    parser.option("n", lines, "Lines.");
    parser.option("check-index", index, "The index.");
    parser.option("meta", meta, "Meta.");
  }
};

using Words = std::vector<std::string>;

}  // namespace

TEST_CASE("arguments: one dash or two, with or without an equals sign") {
  for (const auto& words : {Words{"-type", "batch", "-n", "3", "f"},
                            {"--type=batch", "-n=3", "f"},
                            {"--type", "batch", "--n", "3", "f"}}) {
    Flags flags;
    CHECK_FALSE(flags.parser.parse(words).has_value());
    CHECK(flags.type == "batch");
    CHECK(flags.lines == 3);
    CHECK(flags.parser.positional() == Words{"f"});
  }
}

TEST_CASE("arguments: a value may be empty, where any text is one") {
  for (const auto& words : {Words{"-type=", "f"}, Words{"-type", "", "f"}}) {
    Flags flags;
    CHECK_FALSE(flags.parser.parse(words).has_value());
    CHECK(flags.type.empty());
    CHECK(flags.parser.positional() == Words{"f"});
  }
  const Capture printed;
  Flags flags;
  CHECK(flags.parser.parse({"-n=", "f"}) == 1);
}

TEST_CASE("arguments: a value may end in an equals sign, or be nothing else") {
  for (const std::string value : {"cGFzc3dvcmQ=", "x==", "=", "Name =="})
    for (const auto& words : {Words{"-type=" + value, "-meta=k=" + value},
                              Words{"-type", value, "-meta", "k=" + value}}) {
      Flags flags;
      CHECK_FALSE(flags.parser.parse(words).has_value());
      CHECK(flags.type == value);
      CHECK(flags.meta == Words{"k=" + value});
    }
}

TEST_CASE("arguments: of a flag that has one value, the last counts") {
  Flags flags;
  CHECK_FALSE(flags.parser
                  .parse({"-type=a", "-type=b", "-n=1", "-n=2", "-check-index=3", "-check-index=4",
                          "-strict=false", "-strict", "-detach", "-detach=false"})
                  .has_value());
  CHECK(flags.type == "b");
  CHECK(flags.lines == 2);
  CHECK(flags.index == 4);
  CHECK(flags.strict == true);
  CHECK_FALSE(flags.detach);

  Flags emptied;
  CHECK_FALSE(emptied.parser.parse({"-type=a", "-type="}).has_value());
  CHECK(emptied.type.empty());
}

TEST_CASE("arguments: booleans take a value only behind an equals sign") {
  Flags flags;
  CHECK_FALSE(flags.parser.parse({"-detach", "-strict=false", "false"}).has_value());
  CHECK(flags.detach);
  CHECK(flags.strict == false);
  CHECK(flags.parser.positional() == Words{"false"});

  Flags unset;
  CHECK_FALSE(unset.parser.parse({}).has_value());
  CHECK_FALSE(unset.strict.has_value());
  CHECK_FALSE(unset.index.has_value());
}

TEST_CASE("arguments: the first word that is no flag ends them, and so do two dashes") {
  Flags flags;
  CHECK_FALSE(flags.parser.parse({"web", "-detach"}).has_value());
  CHECK_FALSE(flags.detach);
  CHECK(flags.parser.positional() == Words{"web", "-detach"});

  Flags dashes;
  CHECK_FALSE(dashes.parser.parse({"-detach", "--", "-type", "x"}).has_value());
  CHECK(dashes.detach);
  CHECK(dashes.parser.positional() == Words{"-type", "x"});

  Flags stdin_name;
  CHECK_FALSE(stdin_name.parser.parse({"-"}).has_value());
  CHECK(stdin_name.parser.positional() == Words{"-"});
}

TEST_CASE("arguments: a flag that may stand several times keeps the order") {
  Flags flags;
  CHECK_FALSE(flags.parser.parse({"-meta", "a=1", "-meta=b=2", "-meta", "-c", "x"}).has_value());
  CHECK(flags.meta == Words{"a=1", "b=2", "-c"});
  CHECK(flags.parser.positional() == Words{"x"});
}

TEST_CASE("arguments: mistakes are explained on stderr and end with 1") {
  struct Case {
    Words words;
    const char* begin;
  };

  for (const auto& each :
       {Case{{"-zzzz"},
             "flag provided but not defined: -zzzz\nFor additional help try 'nomadctl job run "
             "-help'\n"},
        Case{{"--zzzz=3"}, "flag provided but not defined: -zzzz\n"},
        Case{{"-type"},
             "flag needs an argument: -type\nFor additional help try 'nomadctl job run -help'\n"},
        Case{{"-detach=x"},
             "invalid boolean value \"x\" for -detach: expected true or "
             "false\nFor additional help try"},
        Case{{"-strict="}, "invalid boolean value \"\" for -strict: "},
        Case{{"-n", "many"}, "invalid value \"many\" for flag -n: expected a whole number\n"},
        Case{{"-n="}, "invalid value \"\" for flag -n: expected a whole"},
        Case{{"-check-index=99999999999999999999"},
             "invalid value \"99999999999999999999\" for flag -check-index: "
             "the number is too large\n"}}) {
    Flags flags;
    const Capture capture;
    CHECK(flags.parser.parse(each.words) == 1);
    CHECK(capture.out().empty());
    CHECK(capture.err().starts_with(each.begin));
  }
}

TEST_CASE("arguments: truth values and numbers are read as Go reads them") {
  Flags flags;
  CHECK_FALSE(
      flags.parser.parse({"-detach=T", "-strict=0", "-n=0x10", "-check-index=-7"}).has_value());
  CHECK(flags.detach);
  CHECK(flags.strict == false);
  CHECK(flags.lines == 16);
  CHECK(flags.index == -7);
}

TEST_CASE("arguments: help goes to stdout and ends with 0") {
  for (const auto* word : {"-h", "-help", "--help"}) {
    Flags flags;
    const Capture capture;
    CHECK(flags.parser.parse({word}) == 0);
    CHECK(capture.out().starts_with("Usage: nomadctl job run [options] <path>\n"));
    CHECK(capture.out().find("  -type=<value>\n    The type.") != std::string::npos);
    CHECK(capture.out().find("  -detach\n") != std::string::npos);
  }
}

TEST_CASE("arguments: misuse names the command's help") {
  Flags flags;
  const Capture capture;
  CHECK(flags.parser.misuse("This command takes one argument: <path>") == 1);
  CHECK(capture.err()
        == "This command takes one argument: <path>\n"
           "For additional help try 'nomadctl job run -help'\n");
}

TEST_CASE("arguments: the flag that is nearest to a misspelt one is named") {
  Flags flags;
  Capture near;
  CHECK(flags.parser.parse({"-check-indx=1"}) == 1);
  CHECK(near.err().starts_with(
      "flag provided but not defined: -check-indx; did you mean -check-index?\n"));
  Capture far;
  CHECK(flags.parser.parse({"-x"}) == 1);
  CHECK(far.err().starts_with("flag provided but not defined: -x\n"));
}

TEST_CASE("arguments: the next page is shown by the same command, without what is secret") {
  Arguments parser{"service info [options] <name>", "Shows."};
  parser.number("per-page", "How many.");
  parser.option("page-token", "Where.");
  parser.option("token", "A secret.");
  parser.option("filter", "Which.");
  parser.flag("verbose", "All.");
  REQUIRE_FALSE(parser.parse({"-per-page", "2", "-token=s3cret", "-filter", "Port == 1", "-verbose",
                              "-page-token", "old", "my web"}));
  const Capture capture;
  parser.hint_next_page("");
  CHECK(capture.out().empty());
  parser.hint_next_page("default.1");
  CHECK(capture.out()
        == "\nResults have been paginated. To get the next page run:\n\n"
           "nomadctl service info -per-page 2 -filter 'Port == 1' -verbose -page-token default.1 "
           "'my web'\n");
}
