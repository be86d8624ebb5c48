// A program is asked once for each file, and only a cache that nobody else could write is believed.
#include "runtime/host/fingerprint/program_answers.hpp"

#include <filesystem>
#include <fstream>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>

#include <doctest/doctest.h>

#include "test/support/temp_dir.hpp"

using namespace nomad;
using namespace nomad::host;
namespace fs = std::filesystem;

namespace {

constexpr ProgramMark some_mark{.device = 1,
                                .inode = 2,
                                .size = 3,
                                .modified_ns = 1'700'000'000'123'456'789,
                                .changed_ns = 1'700'000'000'987'654'321};

/// A directory of programs and one of the cache.
struct Machine {
  test::TempDir dir;
  std::string cache = dir.path() + "/cache";
  std::string program = dir.path() + "/program";

  Machine() { install("/bin/echo"); }

  void install(const std::string& from) const {
    fs::copy_file(from, program, fs::copy_options::overwrite_existing);
  }

  ProgramRun question() const {
    return {.program = program, .arguments = {"its", "answer"}, .environment = {}};
  }

  std::string answer() const {
    const auto ended = program_answer(cache, question());
    REQUIRE(ended);
    return ended->output;
  }

  /// As if it had said so at an earlier start.
  void keep(const std::string& said) const {
    const KnownAnswers known{{{program, question().arguments},
                              {*mark_of_program(program), {.exit_code = 0, .output = said}}}};
    fs::create_directory(cache);
    std::ofstream{file()} << format_answers(known);
  }

  std::string file() const { return cache + "/program-answers"; }
};

}  // namespace

TEST_CASE("program answers: what is written is read again") {
  const KnownAnswers known{
      {{"/opt/cni/bin/bridge", {}}, {some_mark, {.exit_code = 0, .errors = "CNI v1.1.1\nmore\n"}}},
      {{"/a b\n", {"", "-version"}},
       {some_mark, {.exit_code = 0, .output = std::string{"\0,", 2}}}},
      {{"/a b\n", {""}}, {some_mark, {}}}};
  CHECK(parse_answers(format_answers(known)) == known);
  CHECK(parse_answers(format_answers({})).empty());
}

TEST_CASE("program answers: a file with anything else in it counts as none") {
  const auto good = format_answers({{{"/a", {}}, {some_mark, {.exit_code = 0, .output = "v1"}}}});
  REQUIRE(parse_answers(good).size() == 1);
  const std::vector<std::string> bad_ones{"",
                                          "\n",
                                          good.substr(0, good.size() - 1),
                                          good + "\n",
                                          good + "L2I=, - 1 2 3 4 5 djE=,\n",
                                          good + "L2I=, - 1 2 3 4 -5 djE=, -\n",
                                          good + "L2I=, - 1 2 3 4 05 djE=, ,\n",
                                          good + "L2I=, - 1 2 3 4 99999999999999999999 djE=, ,\n",
                                          good + "L2I=, - 1 2 3 4 5 djE=,djE=, ,\n",
                                          good + "L2I=, - 1 2 3 4 5 djE= ,\n",
                                          good + "L2I=, - 1 2 3 4 5 !, ,\n",
                                          good + "- - 1 2 3 4 5 djE=, ,\n",
                                          "nomadctl program answers 2\n"};
  for (const auto& bad : bad_ones)
    CHECK_MESSAGE(parse_answers(bad).empty(), bad);
  CHECK(parse_answers(good + "L2I=, - 1 2 3 4 5 djE=, ,\n").size() == 2);
}

TEST_CASE("program answers: a compiled program is asked once, until its file is another") {
  Machine machine;
  CHECK(machine.answer() == "its answer\n");
  CHECK(ProgramAnswers{machine.cache}.find(machine.question())->output == "its answer\n");
  CHECK(fs::status(machine.cache).permissions() == fs::perms::owner_all);
  machine.keep("kept");
  CHECK(machine.answer() == "kept");

  auto other = machine.question();
  other.arguments = {"its answer"};
  CHECK(!ProgramAnswers{machine.cache}.find(other));
  other.program += "/../program";
  CHECK(!ProgramAnswers{machine.cache}.find(other));

  // Its times of change can be set, but for one.
  struct stat before {};

  REQUIRE(::stat(machine.program.c_str(), &before) == 0);
  const timespec times[] = {before.st_atim, before.st_mtim};
  // The kernel's clock for files has few ticks.
  for (const auto mark = mark_of_program(machine.program);
       mark_of_program(machine.program) == mark;) {
    machine.install("/bin/echo");
    REQUIRE(::utimensat(AT_FDCWD, machine.program.c_str(), times, 0) == 0);
  }
  CHECK(machine.answer() == "its answer\n");
}

TEST_CASE("program answers: what fails, is too long, or comes of a script is asked each time") {
  Machine machine;
  machine.install("/bin/false");
  const auto failed = program_answer(machine.cache, machine.question());
  REQUIRE(failed);
  CHECK(failed->exit_code == 1);
  CHECK(!ProgramAnswers{machine.cache}.find(machine.question()));

  machine.install("/bin/echo");
  auto endless = machine.question();
  endless.arguments = {std::string(10'000, 'x')};
  CHECK(program_answer(machine.cache, endless)->output.size() == 10'001);
  CHECK(!ProgramAnswers{machine.cache}.find(endless));

  std::ofstream{machine.program} << "#!/bin/sh\necho from a script\n";
  CHECK(machine.answer() == "from a script\n");
  CHECK(!ProgramAnswers{machine.cache}.find(machine.question()));
  CHECK(!fs::exists(machine.cache));

  fs::remove(machine.program);
  CHECK(program_answer(machine.cache, machine.question()).error().code == Errc::not_found);
}

TEST_CASE("program answers: a file that others could have written is not believed") {
  Machine machine;
  machine.keep("kept");
  REQUIRE(machine.answer() == "kept");
  fs::permissions(machine.file(), fs::perms::others_write, fs::perm_options::add);
  CHECK(machine.answer() == "its answer\n");
  // It was replaced.
  CHECK((fs::status(machine.file()).permissions() & fs::perms::others_write) == fs::perms::none);

  machine.keep("kept");
  fs::rename(machine.file(), machine.file() + ".other");
  fs::create_symlink(machine.file() + ".other", machine.file());
  CHECK(machine.answer() == "its answer\n");
}

TEST_CASE("program answers: agents keep what others have learned, but of programs that are gone") {
  Machine machine;
  const auto second = machine.dir.path() + "/second";
  fs::copy_file("/bin/echo", second);
  const ProgramRun ask_second{.program = second, .arguments = {}, .environment = {}};

  ProgramAnswers one{machine.cache};
  ProgramAnswers two{machine.cache};
  REQUIRE(one.ask(machine.question()));
  REQUIRE(two.ask(ask_second));
  REQUIRE(one.save());
  REQUIRE(two.save());
  CHECK(ProgramAnswers{machine.cache}.find(machine.question()));
  CHECK(ProgramAnswers{machine.cache}.find(ask_second));

  fs::remove(second);
  auto another = machine.question();
  another.arguments = {"another"};
  REQUIRE(program_answer(machine.cache, another));
  std::ifstream in{machine.file()};
  const auto kept = parse_answers(std::string{std::istreambuf_iterator<char>{in}, {}});
  CHECK(kept.size() == 2);
  CHECK(!kept.contains({second, {}}));
}

TEST_CASE("program answers: there is a bound of what is kept") {
  Machine machine;
  for (int n = 0; n < 130; ++n) {
    auto question = machine.question();
    question.arguments = {std::to_string(n)};
    REQUIRE(program_answer(machine.cache, question));
  }
  std::ifstream in{machine.file()};
  const auto kept = parse_answers(std::string{std::istreambuf_iterator<char>{in}, {}});
  CHECK(kept.size() == 128);
  CHECK(kept.contains({machine.program, {"129"}}));
}

TEST_CASE("program answers: without a place nothing is kept, and nothing fails") {
  Machine machine;
  machine.cache = machine.dir.path() + "/no/such";
  CHECK(machine.answer() == "its answer\n");
  CHECK(!ProgramAnswers{machine.cache}.find(machine.question()));
  machine.cache.clear();
  CHECK(machine.answer() == "its answer\n");
}
