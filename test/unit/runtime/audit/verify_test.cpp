#include "runtime/audit/verify.hpp"

#include <string>

#include <doctest/doctest.h>

namespace nomad::audit {
namespace {

std::string line_of_chain(Link& last, const std::string& content = "x") {
  return seal("{\"n\":\"" + content + '"', last) + '\n';
}

void give(Verifier& verifier, const std::string& file, std::string name = "f") {
  verifier.begin_file(std::move(name));
  verifier.feed(file);
  verifier.end_file();
}

}  // namespace

TEST_CASE("verify: lines are read whole, however their bytes come") {
  Link last;
  const auto text = line_of_chain(last) + line_of_chain(last) + line_of_chain(last);
  for (std::size_t piece : {std::size_t{1}, std::size_t{7}, text.size()}) {
    Verifier verifier;
    verifier.begin_file("f");
    for (std::size_t at = 0; at < text.size(); at += piece)
      verifier.feed(std::string_view{text}.substr(at, piece));
    verifier.end_file();
    CHECK(verifier.found() == 0);
    CHECK(verifier.good_lines() == 3);
    CHECK(verifier.first_number() == 1);
    CHECK(verifier.last() == last);
  }
}

TEST_CASE("verify: nothing given is nothing found") {
  Verifier verifier;
  give(verifier, "");
  CHECK(verifier.found() == 0);
  CHECK(verifier.good_lines() == 0);
  CHECK(verifier.first_number() == 0);
  CHECK(verifier.last() == Link{});
  CHECK_FALSE(verifier.lacks_expected());  // none was noted
}

TEST_CASE("verify: a line as long as any is read, one byte more is told without being kept") {
  Link last;
  const auto room = longest_line - (line_of_chain(last, "").size() - 1);
  Link start;
  const auto longest = line_of_chain(start, std::string(room, 'y'));
  REQUIRE(longest.size() == longest_line + 1);  // with its end
  Verifier verifier;
  give(verifier, longest);
  CHECK(verifier.found() == 0);
  CHECK(verifier.good_lines() == 1);

  start = {};
  const auto too_long = line_of_chain(start, std::string(room + 1, 'y'));
  Verifier other;
  give(other, too_long + line_of_chain(start), "audit.log");
  REQUIRE(other.findings().size() == 1);
  CHECK(other.findings()[0].file == "audit.log");
  CHECK(other.findings()[0].line == 1);
  CHECK(other.findings()[0].what == "is longer than any that was written");
  CHECK(other.good_lines() == 1);  // the one behind it
}

TEST_CASE("verify: a line without an end is torn, however long it is") {
  for (const auto& torn : {std::string{"{"}, std::string(longest_line + 1, 'x')}) {
    Verifier verifier;
    Link last;
    give(verifier, line_of_chain(last) + torn);
    REQUIRE(verifier.findings().size() == 1);
    CHECK(verifier.findings()[0].line == 2);
    CHECK(verifier.findings()[0].what == "is torn: it has no end");
    give(verifier, line_of_chain(last), "next");  // the next file begins anew
    CHECK(verifier.found() == 1);
    CHECK(verifier.good_lines() == 2);
  }
}

TEST_CASE("verify: as many lines may be missing as damaged ones were there") {
  Link last;
  const auto first = line_of_chain(last), second = line_of_chain(last), third = line_of_chain(last),
             fourth = line_of_chain(last), fifth = line_of_chain(last);
  Verifier one_each;  // each damaged line stands where one was: nothing is missing besides
  give(one_each, first + "?\n" + "?\n" + fourth);
  CHECK(one_each.found() == 2);
  CHECK(one_each.good_lines() == 2);

  Verifier two_for_one;
  give(two_for_one, first + "?\n" + fourth);
  REQUIRE(two_for_one.findings().size() == 2);
  CHECK(two_for_one.findings()[1].what == "is number 4: the line before it is missing");
  CHECK(two_for_one.good_lines() == 1);

  Verifier later;  // the damage counts once
  give(later, first + "?\n" + third + fifth);
  CHECK(later.good_lines() == 2);
  REQUIRE(later.findings().size() == 2);
  CHECK(later.findings()[1].what == "is number 5: the line before it is missing");
}

TEST_CASE("verify: the first number is the least, wherever it stands") {
  Link last;
  const auto first = line_of_chain(last), second = line_of_chain(last);
  Verifier verifier;
  give(verifier, second + first);
  CHECK(verifier.first_number() == 1);
  CHECK(verifier.found() == 1);
  CHECK(verifier.good_lines() == 1);
}

TEST_CASE("verify: a line that is there twice is told as repeated") {
  Link last;
  const auto first = line_of_chain(last), second = line_of_chain(last);
  Verifier verifier;
  give(verifier, first + first + second);
  REQUIRE(verifier.findings().size() == 1);
  CHECK(verifier.findings()[0].line == 2);
  CHECK(verifier.findings()[0].what
        == "is number 1 behind number 1: lines were swapped, repeated or put in");
  CHECK(verifier.good_lines() == 2);
}

TEST_CASE("verify: a hash that was noted is one of a line that nobody has changed") {
  Link last;
  const auto text = line_of_chain(last, "a");
  const auto noted = last.hash;
  for (const bool is_changed : {false, true}) {
    auto given = text;
    if (is_changed) given[6] = 'b';
    Verifier verifier;
    verifier.expect(noted);
    CHECK(verifier.lacks_expected());
    Link next = last;
    give(verifier, given + line_of_chain(next));
    CHECK(verifier.lacks_expected() == is_changed);
    CHECK(verifier.good_lines() == (is_changed ? 1 : 2));
  }
}

TEST_CASE("verify: more findings than anybody reads are counted alone") {
  std::string text;
  for (std::size_t i = 0; i < Verifier::most_findings + 2; ++i)
    text += "?\n";
  Verifier verifier;
  give(verifier, text);
  CHECK(verifier.findings().size() == Verifier::most_findings);
  CHECK(verifier.findings().back().line == Verifier::most_findings);
  CHECK(verifier.found() == Verifier::most_findings + 2);
}

TEST_CASE("verify: the first number of a file is that of its first line of a chain") {
  Link last{6, std::string(64, '1')};
  const auto line = line_of_chain(last);
  CHECK(first_number_in(line) == 7);
  CHECK(first_number_in(line.substr(0, line.size() - 1)) == 7);
  CHECK(first_number_in("?\n\n" + line + line_of_chain(last)) == 7);
  CHECK_FALSE(first_number_in(""));
  CHECK_FALSE(first_number_in("?\n?"));
}

}  // namespace nomad::audit
