#include "runtime/audit/chain.hpp"

#include <doctest/doctest.h>

#include "runtime/audit/verify.hpp"
#include "runtime/base/random.hpp"

namespace nomad::audit {
namespace {

std::vector<std::string> sealed_lines(std::size_t count, Link& last) {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < count; ++i)
    lines.push_back(seal("{\"n\":" + std::to_string(i * 7), last) + '\n');
  return lines;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const auto& line : lines)
    text += line;
  return text;
}

/// "2: is number 3: the line before it is missing|…" of files, one after the other.
std::string findings_of(const std::vector<std::string>& files) {
  Verifier verifier;
  for (const auto& file : files) {
    verifier.begin_file("f");
    for (std::size_t at = 0; at < file.size(); at += 100)  // in pieces
      verifier.feed(std::string_view{file}.substr(at, 100));
    verifier.end_file();
  }
  std::string said;
  for (const auto& finding : verifier.findings())
    said += (said.empty() ? "" : "|") + std::to_string(finding.line) + ": " + finding.what;
  return said;
}

}  // namespace

TEST_CASE("chain: what was written is verified, over files, with their first and last number") {
  Link last;
  const auto lines = sealed_lines(5, last);
  Verifier verifier;
  verifier.expect(read_link(lines[2].substr(0, lines[2].size() - 1))->link.hash);
  CHECK(verifier.lacks_expected());
  for (const auto& file : {joined({lines[1], lines[2]}), joined({lines[3], lines[4]})}) {
    verifier.begin_file("f");
    verifier.feed(file);
    verifier.end_file();
  }

  CHECK(verifier.findings().empty());
  CHECK(verifier.good_lines() == 4);
  CHECK(verifier.first_number() == 2);
  CHECK(verifier.last() == last);
  CHECK_FALSE(verifier.lacks_expected());
  CHECK(first_number_in(lines[3]) == 4);
}

TEST_CASE("chain: a line that is edited, cut out, swapped, replaced or torn is named") {
  Link last;
  auto lines = sealed_lines(5, last);

  SUBCASE("edited") {
    lines[2].replace(lines[2].find("14"), 2, "15");
    CHECK(findings_of({joined(lines)}) == "3: is number 3 and was changed after it was written");
  }
  SUBCASE("cut out") {
    lines.erase(lines.begin() + 1, lines.begin() + 3);
    CHECK(findings_of({joined(lines)}) == "2: is number 4: 2 lines before it are missing");
  }
  SUBCASE("swapped") {
    std::swap(lines[1], lines[2]);
    CHECK(findings_of({joined(lines)})
          == "2: is number 3: the line before it is missing|"
             "3: is number 2 behind number 3: lines were swapped, repeated or put in|"
             "4: is number 4: the line before it is missing");
  }
  SUBCASE("replaced by one with links of its own") {
    Link before{2, read_link(lines[1].substr(0, lines[1].size() - 1))->link.hash};
    lines[2] = seal("{\"n\":\"forged\"", before) + '\n';
    CHECK(findings_of({joined(lines)})
          == "4: is number 4 and does not follow the line before it, which was replaced");
  }
  SUBCASE("torn") {
    lines[4].resize(30);
    CHECK(findings_of({joined(lines)}) == "5: is torn: it has no end");
  }
  SUBCASE("a tail, by the next file") {
    Link go_on = last;
    const auto next = joined(sealed_lines(2, go_on));
    lines.pop_back();
    CHECK(findings_of({joined(lines), next}) == "1: is number 6: the line before it is missing");
  }
  SUBCASE("one that is no line of a chain") {
    lines[2] = "{}\n";
    CHECK(findings_of({joined(lines)}) == "3: was changed after it was written: it has no links");
  }
}

TEST_CASE("chain: whatever byte is changed, it is found") {
  constexpr std::uint64_t seed = 20260;
  CAPTURE(seed);
  Random random{seed};
  Link last;
  const auto text = joined(sealed_lines(20, last));

  for (int i = 0; i < 2'000; ++i) {
    auto edited = text;
    const auto at = random.below(edited.size());
    edited[at] = static_cast<char>(edited[at] ^ static_cast<char>(1 + random.below(255)));
    CAPTURE(at);
    CHECK_FALSE(findings_of({edited}).empty());
  }
}

TEST_CASE("chain: a log goes on behind the last whole line of a file") {
  Link last;
  const auto text = joined(sealed_lines(3, last));

  CHECK(read_tail("").last == std::nullopt);
  CHECK(read_tail(text).last == last);
  CHECK(read_tail(text.substr(40)).last == last);
  const auto torn = read_tail(text + "{\"created");
  CHECK(torn.last == last);
  CHECK(torn.torn == 9);
  const auto damaged = read_tail(text + "nonsense\n\n");
  CHECK(damaged.last == last);
  CHECK(damaged.damaged == 2);
  const auto nothing_else = read_tail("?\n\n?");
  CHECK(nothing_else.last == std::nullopt);
  CHECK(nothing_else.damaged == 2);
  CHECK(nothing_else.torn == 1);
}

}  // namespace nomad::audit
